"""The line of a session: its deliveries as patches, commits and merges on the repository's host."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Protocol

from shared.domain.target import Repository
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.script import Variables, value, values
from workers.deliveries.changes import FileChange
from workers.deliveries.line_scripts import LineScripts
from workers.deliveries.line_words import (
    at_once,
    blob_oid,
    delivery_words,
    length,
    require_oids,
    require_session,
)
from workers.deliveries.reading import (
    by_folder,
    count_lines,
    read_changes,
    read_contents,
    read_history,
    read_line,
    read_links,
    read_names,
    split_patch,
)
from workers.deliveries.refusals import BundleMismatch
from workers.deliveries.values import Accepted, Conflict, DeliveryCommit, Difference, Merged
from workers.passes.ports import Cancelled
from workers.shells.ports import Shell

LONGEST_PATCH: Final = 50_000_000
"""Bytes of a patch, unless the caller sets another limit."""

DEPTH: Final = 200
"""How many commits of a line `reverted` looks at, unless the caller says otherwise."""

_AHEAD: Final = 400_000
"""Bytes of the contents that a call brings along, because gates read them next."""

_SUBMODULE = re.compile(rb"^new (?:file )?mode 160000\r?$", re.MULTILINE)


class Meta(Protocol):
    """What of a bundle's meta says which tree its patch makes of which commit."""

    @property
    def base_sha(self) -> str:
        """The commit that the patch is for."""
        ...

    @property
    def result_tree(self) -> str:
        """The tree that it makes."""
        ...


class Line:
    """The line of a session's deliveries, in the git directory that replan has on a host.

    Nothing here reads a work tree, an agent's git directory or anybody's configuration. Every
    method may be called again after it was interrupted anywhere, and then gives the same: commits
    have the dates of their deliveries. They raise what `Shell.run` raises, and:

    - Rejected for a delivery, commit or tree that cannot be used, and for a patch that holds the
      value of a known secret, if the shell masks its output;
    - BundleMismatch, which is Rejected, for a patch that does not make the tree of its bundle;
    - Misconfigured for a host that cannot be used as it is, Transient if a script was ended.

    The repository's `Workspaces.base` was called on the host before. A merged commit and the head
    of a session can be the base of a workspace.

    A line remembers the contents, the names and the history that `publish` and `merge` bring along,
    so that `contents`, `entries` and `reverted` seldom ask the host after them.
    """

    def __init__(
        self,
        shell: Shell,
        repository: Repository,
        *,
        root: str = WORKSPACES,
        cancelled: Cancelled | None = None,
    ) -> None:
        """`root` is the folder for workspaces on the host."""
        self._name = repository.name
        self._scripts = LineScripts(shell, repository, root, cancelled)
        self._blobs: dict[str, bytes] = {}
        self._replaced: dict[tuple[str, int, str, str], str | None] = {}
        self._beside: dict[str, Mapping[str, Sequence[str]]] = {}

    def changes(self, base: str, tree: str) -> tuple[FileChange, ...]:
        """The files that differ between a commit or tree and another one."""
        require_oids(base, tree)
        _, (found, sizes) = self._scripts.files(("changes", base, tree), "publish")
        return read_changes(found, sizes)

    def contents(self, oids: Iterable[str], limit: int) -> Mapping[str, bytes]:
        """The bytes of the blobs, by their ids, but of none that has more than `limit`.

        What is not a blob on the host is left out.
        """
        asked = tuple(dict.fromkeys(oids))
        known = {oid: self._blobs[oid] for oid in asked if oid in self._blobs}
        found = {oid: content for oid, content in known.items() if len(content) <= limit}
        for some in at_once([oid for oid in asked if oid not in known], len):
            require_oids(*some)
            call = ("contents", *some)
            _, (blobs,) = self._scripts.files(call, "publish", {"limit": limit})
            found |= read_contents(blobs)
        return found

    def entries(self, tree: str, folders: Iterable[str]) -> tuple[str, ...]:
        """What stands in the folders of a tree, files and folders, as paths from its root."""
        require_oids(tree)
        known = self._beside.get(tree, {})
        asked = tuple(folders)
        found = [name for folder in asked for name in known.get(folder, ())]
        unknown = [folder for folder in asked if folder not in known]
        for some in at_once(unknown, lambda each: 2 * len(_bytes(each))):
            names = b"".join(_bytes(each) + b"/\0" for each in some if each)
            variables: Variables = {"paths": b64encode(names).decode()}
            call = ("entries", tree, "root" if "" in some else "")
            _, (listed,) = self._scripts.files(call, "publish", variables)
            beside = by_folder(read_names(listed))
            found += (name for folder in some for name in beside.get(folder, ()))
        return tuple(found)

    def links(self, tree: str) -> Mapping[str, str]:
        """The symbolic links of a tree or commit, with their targets."""
        require_oids(tree)
        _, (found, targets) = self._scripts.files(("links", tree), "publish")
        return read_links(found, targets)

    def patch(self, base: str, tree: str, *, limit: int = LONGEST_PATCH) -> bytes:
        """The patch that makes the tree of the base, whole; Rejected if it is longer than that."""
        require_oids(base, tree)
        fields, (patch,) = self._scripts.files(("patch", base, tree), "publish", most=limit)
        return self._scripts.require_whole(patch, value(fields, "oid"))

    def publish(self, base: str, tree: str, *, limit: int = LONGEST_PATCH) -> Difference:
        """What a tree changes on a commit, and its patch, which was seen to make it of that commit.

        The same as `changes` and `patch` together, in one call. A patch that is longer than the
        limit is not brought: only its size is.
        """
        require_oids(base, tree)
        fields, (sizes, blobs, log, beside, whole) = self._scripts.files(
            ("publish_tree", base, tree),
            "publish",
            {"ahead": min(_AHEAD, limit), "depth": DEPTH, "most": limit},
        )
        found, patch = split_patch(self._scripts.require_whole(whole, value(fields, "oid")))
        changes = read_changes(found, sizes)
        self._remember(base, changes, blobs, log if value(fields, "looked") else None)
        self._beside[tree] = by_folder(read_names(beside))
        added, deleted = count_lines(patch)
        return Difference(changes, added, deleted, patch, int(value(fields, "patch")))

    def reverted(
        self, head: str, changes: Sequence[FileChange], *, depth: int = DEPTH
    ) -> tuple[tuple[str, str], ...]:
        """The changes that bring back a content that a commit of the line has replaced, and it.

        A path counts if its new blob is not the one that it has at `head`, but one that it had
        before, in the last `depth` commits of the first-parent history.
        """
        require_oids(head)
        new = [each for each in changes if each.has_new_blob and each.new_oid != each.old_oid]
        unknown = [each for each in new if _key(head, depth, each) not in self._replaced]
        for some in at_once(unknown, lambda each: len(each.new_oid)):
            call = ("history", head, *dict.fromkeys(each.new_oid for each in some))
            _, (log,) = self._scripts.files(call, "publish", {"depth": depth})
            self._learn(head, depth, some, log)
        found = ((each.path, self._replaced[_key(head, depth, each)]) for each in new)
        return tuple((path, commit) for path, commit in found if commit is not None)

    def apply(self, meta: Meta, patch: bytes) -> None:
        """See that the host has the tree of a bundle, and that this patch makes it of its base.

        Raises BundleMismatch. The patch is sent only if the host has not made it itself.
        """
        require_oids(meta.base_sha, meta.result_tree)
        if _SUBMODULE.search(patch):
            raise BundleMismatch(
                f"the repository {self._name}: the patch adds a submodule, which a workspace "
                "cannot hold",
                stage="accept",
            )
        oid = blob_oid(patch, meta.base_sha)
        call = (meta.base_sha, meta.result_tree, oid)
        if value(self._scripts.fields(("prove", *call), "accept"), "proven"):
            return
        count = self._scripts.send(oid, patch)
        self._scripts.fields(("apply_parts", *call, str(count)), "accept")

    def merge(
        self, head: str, deliveries: Sequence[DeliveryCommit], *, session: str | None = None
    ) -> Merged | Conflict:
        """Put deliveries on the line behind `head`, one after another.

        A delivery whose base is the line's head becomes the next commit; any other is merged. One
        that is there already changes nothing. With `session`, `head` is kept as its head.
        """
        if session is not None:
            require_session(session)
        require_oids(head)
        line: list[Accepted] = []
        merged = Merged(head, "")
        for some in at_once(list(map(delivery_words, deliveries)), length):
            words = [word for each in some for word in each]
            call = ("merge", line[-1].commit if line else head, session or "", *words)
            looking = {"ahead": _AHEAD, "depth": DEPTH}
            fields, files = self._scripts.files(call, "accept", looking)
            line += read_line(fields, [each[0] for each in some])
            session = None
            failed = value(fields, "conflict")
            if failed:
                paths = values(fields, "conflicting")
                return Conflict(failed, paths, values(fields, "tree")[-1], tuple(line))
            found, sizes, blobs, log, beside = files
            changes = read_changes(found, sizes)
            before = value(fields, "before")
            self._remember(before, changes, blobs, log if value(fields, "looked") else None)
            self._beside[line[-1].tree] = by_folder(read_names(beside))
            merged = Merged(line[-1].commit, line[-1].tree, tuple(line), changes)
        return merged

    def keep(self, session: str, head: str) -> None:
        """Keep a commit and all before it as the head of the session.

        An older commit than the one that is kept changes nothing.
        """
        require_session(session)
        require_oids(head)
        self._scripts.fields(("keep", session, head), "accept")

    def _remember(
        self, head: str, changes: Sequence[FileChange], blobs: bytes, log: bytes | None
    ) -> None:
        """Keep what a script has brought along; `log` is None if it did not look."""
        self._blobs |= read_contents(blobs)
        if log is not None:
            self._learn(head, DEPTH, changes, log)

    def _learn(self, head: str, depth: int, changes: Sequence[FileChange], log: bytes) -> None:
        newest = read_history(log)
        for each in changes:
            self._replaced[_key(head, depth, each)] = newest.get((each.path, each.new_oid))


def _key(head: str, depth: int, change: FileChange) -> tuple[str, int, str, str]:
    return head, depth, change.path, change.new_oid


def _bytes(path: str) -> bytes:
    return path.encode(errors="surrogateescape")
