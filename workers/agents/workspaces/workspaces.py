"""Makes, keeps and removes the workspaces of one repository on its host."""

import re
from collections.abc import Collection
from typing import Final

from shared.domain.attempt import CommandResult
from shared.domain.errors import Misconfigured, Rejected
from shared.domain.next_step import NextStep
from shared.domain.target import Repository
from shared.domain.workspace import LeftOut, Why
from shared.domain.workspace_limits import WorkspaceLimits
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.notices import links_out, notices
from workers.agents.workspaces.refusals import STAGE, failure, interrupted, refusal
from workers.agents.workspaces.script import (
    Fields,
    Variables,
    parse,
    script,
    value,
    values,
)
from workers.agents.workspaces.values import (
    Base,
    Change,
    ChangedFile,
    Collected,
    Difference,
    Patch,
    Snapshot,
    Usage,
    Workspace,
)
from workers.passes.ports import Cancelled
from workers.shells.ports import Call, Shell

LONGEST_PATCH: Final = 900_000
"""Bytes of a patch; a shell keeps no more of a command's output."""

_FETCH, _WORK, _LOOK = 1_800.0, 300.0, 120.0
_REFUSED = 3
_BLOCK, _KILOBYTE = 512, 1024
_NAME = re.compile(r"[A-Za-z0-9](?!.*\.\.)(?!.*\.lock$)[A-Za-z0-9_.-]*(?<!\.)")


class Workspaces:
    """The workspaces of a repository, all below one folder on its host.

    Every method runs one script of replan's own through the shell, and may be called again after
    it was interrupted. They raise what `Shell.run` raises, and:

    - Misconfigured for a repository or a host that cannot be used as it is (with the reason);
    - Transient if a script was ended, or a URL cannot be fetched from;
    - Rejected for an attempt or a tree that the host does not have.

    Whoever gives `repository.setup` has let the guard judge it: `prepare` runs it as it stands.
    """

    def __init__(
        self,
        shell: Shell,
        repository: Repository,
        *,
        root: str = WORKSPACES,
        limits: WorkspaceLimits | None = None,
        cancelled: Cancelled | None = None,
    ) -> None:
        """`root` is the folder on the host.

        Beyond the cap of its limits, `collect` runs beside a `prepare`, at most once an hour.
        """
        limits = limits or WorkspaceLimits()
        self._shell = shell
        self._repository = repository
        self._root = root
        self._largest = None if limits.largest is None else limits.largest // _BLOCK
        self._limits = limits
        self._cancelled = cancelled
        _require_name("repository", repository.name)

    def base(self, record: str) -> Base:
        """The commit that the pass of that name starts from: the newest one at its first call.

        Only commits count. From then on the host has all that belongs to it, whatever becomes of
        the source, and every call for the pass returns the same commit.
        """
        repository = self._repository
        _require_name("pass", record)
        call = ("resolve_base", record, repository.url or "", repository.branch or "")
        fields = self._run(("source",), call, {}, _FETCH)
        return Base(value(fields, "base"), notices(fields))

    def prepare(
        self, base: str, attempt: str, *, tree: str | None = None, lasting: bool = False
    ) -> Workspace:
        """The workspace of the attempt: the one that there is, or a new one.

        A new one has the files of `base`, with the setup command run and the ignored files of
        `repository.copied`; with `tree`, its files are then those of that tree. If somebody has
        removed the workspace of the attempt, a new one has its last snapshot. One that is `lasting`
        keeps the base of its first call, whatever a later one says.
        """
        repository = self._repository
        _require_name("attempt", attempt)
        for pattern in repository.copied:
            _require_below(repository, pattern)
        variables: Variables = {
            "base": base,
            "attempt": attempt,
            "from": tree,
            "lasting": "yes" if lasting else None,
            "setup": repository.setup,
            **self._collect_variables(self._limits.cap, self._limits.idle),
        }
        fields = self._run(
            ("snapshot", "collect", "prepare"),
            ("prepare", *repository.copied),
            variables,
            _WORK + (repository.setup_timeout if repository.setup else 0.0),
        )
        return Workspace(
            attempt,
            value(fields, "path"),
            value(fields, "home"),
            value(fields, "base"),
            value(fields, "begun"),
            values(fields, "missing"),
        )

    def path_of(self, attempt: str) -> str | None:
        """Where the files of the attempt's workspace are; None if it has none."""
        _require_name("attempt", attempt)
        fields = self._run((), ("tell_tree",), {"attempt": attempt}, _LOOK)
        return value(fields, "path") or None

    def snapshot(self, workspace: Workspace, label: str = "", *, whole: bool = False) -> Snapshot:
        """Keep the files of the workspace, as they are now, as a tree.

        It is what `git add --all` would take, by a git directory and a configuration that the
        agent does not have. `label` is one line kept with it. With `whole`, what the tree does not
        hold is told as well.
        """
        variables = {"label": label, "whole": "yes" if whole else None}
        fields = self._in(workspace, ("snapshot",), ("snapshot",), variables)
        left_out = tuple(
            LeftOut(path, why) for why in Why for path in dict.fromkeys(values(fields, why))
        )
        return Snapshot(value(fields, "tree"), value(fields, "head") or None, left_out)

    def restore(self, workspace: Workspace, tree: str) -> str:
        """Make the files of the workspace those of the tree; returns the tree before that.

        Ignored files stay.
        """
        fields = self._in(workspace, ("snapshot",), ("restore", tree), {})
        return value(fields, "before")

    def changed(self, base: str, tree: str, *, limit: int = 300_000) -> Difference:
        """The files that differ between two trees or commits; `limit` is the size of their names.

        A file that was moved counts as deleted and added.
        """
        fields = self._run(("trees",), ("compare", base, tree), {"limit": limit}, _LOOK)
        files = tuple(ChangedFile(text[1:], Change(text[0])) for text in values(fields, "file"))
        return Difference(files, int(value(fields, "count")))

    def patch(self, base: str, tree: str, *, limit: int = LONGEST_PATCH) -> Patch:
        """The patch between two trees or commits, as git writes it; `limit` is in bytes.

        Whatever a configuration says about differences is not read. Only a whole patch can be
        applied.
        """
        limit = min(limit, LONGEST_PATCH)
        result = self._result(("trees",), ("patch", base, tree), {"limit": limit}, _LOOK)
        return Patch(result.stdout[:limit], len(result.stdout) > limit)

    def links_out(self, tree: str) -> tuple[str, ...]:
        """The symbolic links of a tree or commit that lead out of it; a few hundred are read."""
        return links_out(self._run(("source", "trees"), ("links", tree), {}, _LOOK))

    def usage(self) -> Usage:
        """The bytes that all this takes up on the host."""
        fields = self._run(("collect",), ("measure",), {}, _LOOK)
        attempts = (text.split() for text in values(fields, "attempt"))
        return Usage(
            total=_bytes(value(fields, "total")),
            objects=_bytes(value(fields, "objects")),
            templates=sum(_bytes(text.split()[0]) for text in values(fields, "template")),
            free=_bytes(value(fields, "free")),
            attempts={name: _bytes(size) for size, name in attempts},
        )

    def collect(
        self, cap: int, keep: Collection[str] = (), *, idle: float | None = None
    ) -> Collected:
        """Remove workspaces, the oldest first, until all takes up no more than `cap` bytes.

        None goes whose files and commits are not kept: the last snapshot is taken now, and one that
        leaves something out (too large, unreadable) keeps the workspace, as does a process in it.
        The attempts `keep` stay too, and what was used in the last `idle` seconds (None: that of
        the limits). Trees are never removed.
        """
        for attempt in keep:
            _require_name("attempt", attempt)
        variables = self._collect_variables(cap, self._limits.idle if idle is None else idle)
        parts, call = ("snapshot", "collect"), ("collect", *sorted(keep))
        fields = self._run(parts, call, variables, _FETCH)
        return Collected(
            _bytes(value(fields, "total")),
            values(fields, "removed"),
            values(fields, "used"),
            values(fields, "unkept"),
        )

    def attempts(self, begins: str) -> tuple[str, ...]:
        """The attempts with a workspace whose names begin with that text."""
        return values(self._run(("collect",), ("tell_attempts", begins), {}, _LOOK), "attempt")

    def drop(self, *attempts: str) -> None:
        """Remove the workspaces of attempts with all they hold; nothing of it is kept.

        It is for those that anybody can make again, and in which nothing runs any more.
        """
        for attempt in attempts:
            _require_name("attempt", attempt)
        if attempts:
            self._run(("collect",), ("drop", *attempts), {}, _WORK)

    def _in(
        self,
        workspace: Workspace,
        parts: tuple[str, ...],
        call: tuple[str, ...],
        variables: Variables,
    ) -> Fields:
        own = {"attempt": workspace.attempt, **self._snapshot_variables(), **variables}
        return self._run(parts, call, own, _WORK)

    def _snapshot_variables(self) -> Variables:
        return {"largest": self._largest, "label": "", "whole": ""}

    def _collect_variables(self, cap: int, idle: float) -> Variables:
        minutes = int(idle // 60)
        return {**self._snapshot_variables(), "cap": cap // _KILOBYTE, "idle": minutes or None}

    def _run(
        self,
        parts: tuple[str, ...],
        call: tuple[str, ...],
        variables: Variables,
        timeout: float,
    ) -> Fields:
        return parse(self._result(parts, call, variables, timeout).stdout)

    def _result(
        self,
        parts: tuple[str, ...],
        call: tuple[str, ...],
        variables: Variables,
        timeout: float,
    ) -> CommandResult:
        """The result of a script that did what it was asked; everything else is raised."""
        text = script(parts, self._repository, self._root, call, variables)
        result = self._shell.run(Call(text, timeout), cancelled=self._cancelled)
        if result.exit_code == 0:
            return result
        if result.exit_code == _REFUSED:
            raise refusal(self._repository, parse(result.stdout))
        what = f"{call[0]} ended with exit code {result.exit_code}"
        if result.timed_out:
            raise interrupted(self._repository, f"{call[0]} took longer than {timeout:.0f} seconds")
        if result.exit_code is None:
            raise interrupted(self._repository, f"{call[0]} was ended before it was done")
        raise failure(self._repository, what, result.stderr.decode(errors="replace"))


def _require_name(kind: str, name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise Rejected(
            f"{name!r} is not a valid name of {kind} for a workspace; letters, digits, '.', '-' "
            "and '_' are",
            stage=STAGE,
        )


def _require_below(repository: Repository, pattern: str) -> None:
    if pattern.startswith("/") or ".." in pattern.split("/") or not pattern.strip("./"):
        raise Misconfigured(
            f"the repository {repository.name}: {pattern!r} is not a valid pattern of ignored "
            "files; it must lead to files below the repository",
            stage=STAGE,
            next_step=NextStep.of("host check", repository.host),
        )


def _bytes(kilobytes: str) -> int:
    return int(kilobytes or 0) * _KILOBYTE
