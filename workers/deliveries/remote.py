"""Looks at the branch of a session on its remote, and publishes to it, on the repository's host."""

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from shared.domain.attempt import CommandResult
from shared.domain.checkpoint import MOST_SHOWN, Commit, FoundOnRemote, standing_of
from shared.domain.delivery import branch_ref
from shared.domain.errors import Misconfigured, Rejected, ReplanError, Unavailable
from shared.domain.next_step import NextStep, ShellCommand
from shared.domain.target import Repository
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.refusals import failure, interrupted, refusal
from workers.agents.workspaces.script import Fields, Variables, parse, script, value, values
from workers.deliveries.git_words import PushEnd, push_end, refuses_us, shown
from workers.passes.ports import Cancelled
from workers.shells.ports import Call, Shell

STAGE: Final = "checkpoint"

_TALK, _PUSH, _LOOK = 120.0, 1_800.0, 60.0
_REFUSED = 3
_SIGNALS = 128


class RemoteRefusal(Misconfigured):
    """The remote, or the repository, does not let us publish; a person must put it right."""


class NotAttested(Rejected):
    """The head of a session is not known to have passed its checks: it is not published."""


class Code(StrEnum):
    """What the scripts say when they refuse for a reason of their own."""

    NO_COMMIT = "no_commit"
    NOT_AHEAD = "not_ahead"
    AWAY = "away"
    CHECKED_OUT = "checked_out"


_CODES: Final = frozenset(each.value for each in Code)


@dataclass(frozen=True, slots=True)
class Pushed:
    """How a push ended, and what git and the other side said."""

    end: PushEnd
    said: str


@dataclass(frozen=True, slots=True)
class Head:
    """The tree of a commit on the host, and replan's own git directory there."""

    tree: str
    git_dir: str


@dataclass(frozen=True, slots=True)
class Seen:
    """The commit of a branch on the remote; `tree` is None if the commit is not here."""

    commit: str
    tree: str | None


class Remote:
    """One branch on the remote of a repository.

    Every method runs one script of replan's own through the shell, and may be called again after
    it was interrupted: nothing is pushed that the remote has, and nothing on it is overwritten.
    They raise what `Shell.run` raises, and:

    - Unavailable if the remote cannot be reached, or a script was ended;
    - RemoteRefusal if the remote does not let us in, or if the branch is checked out there;
    - NotAttested if the host does not have the commit;
    - Misconfigured for a host that cannot be used as it is.
    """

    def __init__(
        self,
        shell: Shell,
        repository: Repository,
        branch: str,
        *,
        root: str = WORKSPACES,
        cancelled: Cancelled | None = None,
    ) -> None:
        """`branch` is its name there, `root` the folder for workspaces on the host."""
        self.ref: Final = branch_ref(branch)
        self._branch = branch
        self._shell = shell
        self._repository = repository
        self._root = root
        self._cancelled = cancelled

    @property
    def place(self) -> str:
        """The path or the URL of the remote."""
        return self._repository.remote or self._repository.source

    def head(self, commit: str) -> Head | None:
        """What the host knows of a commit; None if it does not have it."""
        fields = self._run(("tree_of_head", commit), {}, _LOOK)
        tree = value(fields, "tree")
        return Head(tree, value(fields, "git_dir")) if tree else None

    def look(self, head: str) -> FoundOnRemote:
        """What the branch on the remote is, beside `head`; what only it has is fetched and kept."""
        fields = self._run(("look", head), {"most": MOST_SHOWN}, _PUSH)
        commit = value(fields, "found") or None
        ahead, behind = (int(value(fields, name) or 0) for name in ("ahead", "behind"))
        return FoundOnRemote(
            standing=standing_of(head, commit, ahead, behind),
            commit=commit,
            ahead=ahead,
            behind=behind,
            base=value(fields, "base") or None,
            ours=_commits(values(fields, "ours")),
            theirs=_commits(values(fields, "theirs")),
        )

    def push(self, head: str, expected: str | None) -> Pushed:
        """Publish `head` if the branch is at `expected`, which it continues; None: no branch yet.

        Whether the remote has it afterwards, only a look at it tells.
        """
        fields = self._run(("push", head, expected or ""), {}, _PUSH)
        said = value(fields, "said")
        code = int(value(fields, "exit_code") or 1)
        return Pushed(push_end(said, code, self.ref), shown(said))

    def see(self, head: str) -> Seen | None:
        """What the remote has now; None if it does not have the branch."""
        fields = self._run(("see", head), {}, _TALK)
        commit = value(fields, "found")
        return Seen(commit, value(fields, "tree") or None) if commit else None

    def _run(self, call: tuple[str, ...], variables: Variables, timeout: float) -> Fields:
        own = {"remote": self.place, "ref": self.ref, **variables}
        parts = ("source", "workers.deliveries:remote")
        text = script(parts, self._repository, self._root, call, own)
        result = self._shell.run(Call(text, timeout), cancelled=self._cancelled)
        return fields_of(result, self._repository, call[0], timeout, self._error)

    def _error(self, fields: Fields) -> ReplanError | None:
        code, detail = value(fields, "error"), value(fields, "detail").strip()
        if code not in _CODES:
            return None
        repository, place = self._repository, self.place
        about = f"the repository {repository.name}"
        show = NextStep.of("repo show", repository.name)
        match Code(code):
            case Code.AWAY if not refuses_us(detail):
                reason = f"git on {repository.host} cannot reach {place}: {shown(detail)}"
                return Unavailable(f"{about}: {reason}", stage=STAGE, next_step=show)
            case Code.AWAY:
                reason = f"{place} refuses {repository.host}: {shown(detail)}"
                return RemoteRefusal(f"{about}: {reason}", stage=STAGE, next_step=show)
            case Code.CHECKED_OUT:
                return RemoteRefusal(
                    f"{about}: the branch {self._branch} is checked out in {detail}, where a push "
                    "would change files under somebody's hands",
                    stage=STAGE,
                    next_step=ShellCommand(shlex.join(("git", "-C", detail, "switch", "--detach"))),
                )
            case Code.NO_COMMIT:
                reason = f"its host does not have the commit {detail}, the head of the session"
                check = NextStep.of("repo check", repository.name)
                return NotAttested(f"{about}: {reason}", stage=STAGE, next_step=check)
            case Code.NOT_AHEAD:
                reason = f"the head of the session does not continue {detail}, which is on {place}"
                return RemoteRefusal(f"{about}: {reason}", stage=STAGE, next_step=show)


def fields_of(
    result: CommandResult,
    repository: Repository,
    verb: str,
    timeout: float,
    error_of: Callable[[Fields], ReplanError | None],
) -> Fields:
    """What a script printed that did what it was asked; everything else is raised."""
    if result.exit_code == 0:
        return parse(result.stdout)
    if result.exit_code == _REFUSED:
        fields = parse(result.stdout)
        raise error_of(fields) or refusal(repository, fields)
    if result.timed_out:
        raise interrupted(repository, f"{verb} took longer than {timeout:.0f} seconds")
    if result.exit_code is None or result.exit_code > _SIGNALS:
        raise interrupted(repository, f"{verb} was ended before it was done")
    what = f"{verb} ended with exit code {result.exit_code}"
    raise failure(repository, what, result.stderr.decode(errors="replace"))


def _commits(lines: tuple[str, ...]) -> tuple[Commit, ...]:
    return tuple(Commit(*line.partition(" ")[::2]) for line in lines)
