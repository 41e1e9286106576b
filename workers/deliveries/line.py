"""The line of a session: its deliveries as patches, commits and merges on the repository's host."""

import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import sha1, sha256
from typing import Final, Protocol, TypeVar

from shared.domain.errors import Defect, Rejected, Transient
from shared.domain.next_step import NextStep
from shared.domain.target import Repository
from shared.settings.server import WORKSPACES
from workers.agents.workspaces.refusals import failure, interrupted
from workers.agents.workspaces.script import Fields, Variables, parse, script, value, values
from workers.deliveries.changes import FileChange
from workers.deliveries.reading import (
    read_changes,
    read_contents,
    read_history,
    read_line,
    read_lines_changed,
    read_links,
)
from workers.deliveries.refusals import BundleMismatch, refusal_of
from workers.deliveries.values import (
    Accepted,
    Conflict,
    DeliveryCommit,
    Difference,
    Merged,
)
from workers.passes.ports import Cancelled
from workers.shells.ports import LONGEST, Call, Shell

LONGEST_PATCH: Final = 50_000_000
"""Bytes of a patch, unless the caller sets another limit."""

_ROOM: Final = 900_000
"""Bytes that one call brings back; a shell keeps no more of a command's output."""

_PARTS = ("workers.deliveries:line", "workers.deliveries:merging")
_TIMEOUT = 300.0
_REFUSED = 3
_WORDS: Final = 60_000
"""Bytes of what one script is given to work on; a host takes no longer command than `LONGEST`."""

_MASKED = re.compile("\u2039secret:([^\u203a]*)\u203a".encode())
_SUBMODULE = re.compile(rb"^new (?:file )?mode 160000\r?$", re.MULTILINE)
_OID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SESSION = re.compile(r"[A-Za-z0-9](?!.*\.\.)(?!.*@\{)(?!.*\.lock$)[A-Za-z0-9_.@#-]*(?<!\.)")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_LONGEST_TITLE: Final = 200
_SHA1: Final = 40
_T = TypeVar("_T")


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
        self._shell = shell
        self._repository = repository
        self._root = root
        self._cancelled = cancelled

    def changes(self, base: str, tree: str) -> tuple[FileChange, ...]:
        """The files that differ between a commit or tree and another one."""
        _require_oids(base, tree)
        _, (found, sizes) = self._long(("changes", base, tree), "publish")
        return read_changes(found, sizes)

    def contents(self, oids: Iterable[str], limit: int) -> Mapping[str, bytes]:
        """The bytes of the blobs, by their ids, but of none that has more than `limit`.

        What is not a blob on the host is left out.
        """
        found: dict[str, bytes] = {}
        for some in _at_once(tuple(dict.fromkeys(oids)), len):
            _require_oids(*some)
            _, (blobs,) = self._long(("contents", *some), "publish", {"limit": limit})
            found |= read_contents(blobs)
        return found

    def entries(self, tree: str, folders: Iterable[str]) -> tuple[str, ...]:
        """What stands in the folders of a tree, files and folders, as paths from its root."""
        _require_oids(tree)
        found: list[str] = []
        for some in _at_once(
            tuple(folders), lambda each: 2 * len(each.encode(errors="surrogateescape"))
        ):
            names = (each.encode(errors="surrogateescape") + b"/\0" for each in some if each)
            variables: Variables = {"paths": b64encode(b"".join(names)).decode()}
            call = ("entries", tree, "root" if "" in some else "")
            _, (listed,) = self._long(call, "publish", variables)
            found += (name.decode(errors="surrogateescape") for name in listed.split(b"\0")[:-1])
        return tuple(found)

    def links(self, tree: str) -> Mapping[str, str]:
        """The symbolic links of a tree or commit, with their targets."""
        _require_oids(tree)
        _, (found, targets) = self._long(("links", tree), "publish")
        return read_links(found, targets)

    def patch(self, base: str, tree: str, *, limit: int = LONGEST_PATCH) -> bytes:
        """The patch that makes the tree of the base, whole; Rejected if it is longer than that."""
        _require_oids(base, tree)
        fields, (patch,) = self._long(("patch", base, tree), "publish", most=limit)
        return self._require_whole(patch, value(fields, "oid"))

    def publish(self, base: str, tree: str, *, limit: int = LONGEST_PATCH) -> Difference:
        """What a tree changes, and its patch, proven: applied to the base, it makes that tree.

        The same as `changes` and `patch` together, in one call.
        """
        _require_oids(base, tree)
        call = ("publish_tree", base, tree)
        fields, (found, sizes, patch) = self._long(call, "publish", most=limit)
        added, deleted = read_lines_changed(found)
        changes = read_changes(found, sizes)
        patch = self._require_whole(patch, value(fields, "oid"))
        return Difference(changes, added, deleted, patch)

    def reverted(
        self, head: str, changes: Sequence[FileChange], *, depth: int = 500
    ) -> tuple[tuple[str, str], ...]:
        """The changes that bring back a content that a commit of the line has replaced, and it.

        A path counts if its new blob is not the one that it has at `head`, but one that it had
        before, in the last `depth` commits of the first-parent history.
        """
        _require_oids(head)
        found: list[tuple[str, str]] = []
        new = [each for each in changes if each.has_new_blob and each.new_oid != each.old_oid]
        for some in _at_once(new, lambda each: 2 * len(_name(each)) + len(each.new_oid)):
            names = b"".join(map(_name, some))
            call = ("history", head, *dict.fromkeys(each.new_oid for each in some))
            variables: Variables = {"paths": b64encode(names).decode(), "depth": depth}
            _, (log,) = self._long(call, "publish", variables)
            newest = read_history(log)
            for each in some:
                replaced_by = newest.get((each.path, each.new_oid))
                if replaced_by is not None:
                    found.append((each.path, replaced_by))
        return tuple(found)

    def apply(self, meta: Meta, patch: bytes) -> None:
        """See that the host has the tree of a bundle, and that this patch makes it of its base.

        Raises BundleMismatch. The patch is sent only if the host has not made it itself.
        """
        _require_oids(meta.base_sha, meta.result_tree)
        if _SUBMODULE.search(patch):
            raise BundleMismatch(
                f"the repository {self._repository.name}: the patch adds a submodule, which a "
                "workspace cannot hold",
                stage="accept",
            )
        oid = _blob_oid(patch, meta.base_sha)
        fields = self._fields(("prove", meta.base_sha, meta.result_tree, oid), "accept")
        if value(fields, "proven"):
            return
        count = self._send(oid, patch)
        call = ("apply_parts", meta.base_sha, meta.result_tree, oid, str(count))
        self._fields(call, "accept")

    def merge(
        self, head: str, deliveries: Sequence[DeliveryCommit], *, session: str | None = None
    ) -> Merged | Conflict:
        """Put deliveries on the line behind `head`, one after another.

        A delivery whose base is the line's head becomes the next commit; any other is merged. One
        that is there already changes nothing. With `session`, `head` is kept as its head.
        """
        line: list[Accepted] = []
        if session is not None:
            _require_session(session)
        _require_oids(head)
        merged = Merged(head, "")
        for some in _at_once(list(map(_words, deliveries)), _length):
            words = [word for each in some for word in each]
            call = ("merge", line[-1].commit if line else head, session or "", *words)
            fields, parts = self._long(call, "accept")
            line += read_line(fields, [each[0] for each in some])
            session = None
            failed = value(fields, "conflict")
            if failed:
                paths = values(fields, "conflicting")
                return Conflict(failed, paths, values(fields, "tree")[-1], tuple(line))
            last = line[-1]
            merged = Merged(last.commit, last.tree, tuple(line), read_changes(*parts))
        return merged

    def keep(self, session: str, head: str) -> None:
        """Keep a commit and all before it as the head of the session.

        An older commit than the one that is kept changes nothing.
        """
        _require_session(session)
        _require_oids(head)
        self._fields(("keep", session, head), "accept")

    def _send(self, oid: str, patch: bytes) -> int:
        """Send the patch in parts; returns how many."""
        text = self._text(("take_part", oid, "99999999"), {"part": ""})
        size = (LONGEST - len(text.encode())) // 4 * 3
        parts = [patch[at : at + size] for at in range(0, len(patch), size)]
        for number, part in enumerate(parts):
            call = ("take_part", f"{oid}.{len(parts)}", str(number))
            self._result(call, {"part": b64encode(part).decode()}, "accept")
        return len(parts)

    def _long(
        self,
        call: tuple[str, ...],
        stage: str,
        variables: Variables | None = None,
        *,
        most: int | None = None,
    ) -> tuple[Fields, tuple[bytes, ...]]:
        """What a script gives, in as many calls as it takes: its fields, and its files."""
        body, total = b"", 1
        sizes: list[int] = []
        fields: Fields = ()
        while len(body) < total:
            paging: Variables = {"offset": len(body), "room": _ROOM, **(variables or {})}
            head, _, part = self._result(call, paging, stage).partition(b"\0\0")
            fields = parse(head + b"\0")
            sizes = [int(size) for size in values(fields, "size")]
            total = sum(sizes)
            if most is not None and sizes[-1] > most:
                raise self._too_long(sizes[-1], most, stage)
            self._require_size(part, min(_ROOM, total - len(body)), stage)
            body += part
        ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
        return fields, tuple(body[end - size : end] for end, size in zip(ends, sizes, strict=True))

    def _fields(self, call: tuple[str, ...], stage: str) -> Fields:
        return parse(self._result(call, {}, stage))

    def _result(self, call: tuple[str, ...], variables: Variables, stage: str) -> bytes:
        """What a script that did what it was asked has printed; everything else is raised."""
        text = self._text(call, variables)
        asked = Call(text, _TIMEOUT, parsed=True)
        result = self._shell.run(asked, cancelled=self._cancelled)
        if result.exit_code == 0:
            return result.stdout
        if result.exit_code == _REFUSED:
            raise refusal_of(self._repository, parse(result.stdout), stage)
        if result.timed_out:
            told = f"{call[0]} took longer than {_TIMEOUT:.0f} seconds"
            raise interrupted(self._repository, told)
        if result.exit_code is None:
            raise interrupted(self._repository, f"{call[0]} was ended before it was done")
        what = f"{call[0]} ended with exit code {result.exit_code}"
        raise failure(self._repository, what, result.stderr.decode(errors="replace"))

    def _text(self, call: tuple[str, ...], variables: Variables) -> str:
        return script(_PARTS, self._repository, self._root, call, variables)

    def _require_whole(self, patch: bytes, oid: str) -> bytes:
        if _blob_oid(patch, oid) != oid:
            raise self._changed_on_its_way(patch, "publish")
        return patch

    def _require_size(self, part: bytes, size: int, stage: str) -> None:
        if len(part) != size:
            raise self._changed_on_its_way(part, stage)

    def _changed_on_its_way(self, found: bytes, stage: str) -> Rejected | Transient:
        masked = _MASKED.search(found)
        name = self._repository.name
        if masked is None:
            return Transient(
                f"the repository {name}: what git printed did not arrive as it was",
                stage=stage,
                next_step=NextStep.of("host check", self._repository.host),
            )
        secret = masked[1].decode(errors="replace")
        return Rejected(
            f"the repository {name}: the files hold the value of the secret {secret}", stage=stage
        )

    def _too_long(self, size: int, limit: int, stage: str) -> Rejected:
        return Rejected(
            f"the repository {self._repository.name}: the patch has {size} bytes, and no more "
            f"than {limit} are allowed",
            stage=stage,
        )


def _words(delivery: DeliveryCommit) -> tuple[str, ...]:
    _require_oids(delivery.base, delivery.tree)
    if _DIGEST.fullmatch(delivery.delivery) is None:
        raise _invalid("SHA-256", delivery.delivery)
    if delivery.at.tzinfo is None:
        raise Defect("the date of a delivery has no time zone", stage="accept")
    seconds = str(int(delivery.at.timestamp()))
    return (delivery.delivery, delivery.base, delivery.tree, seconds, _title(delivery.title))


def _title(text: str) -> str:
    """A text as the first line of a commit."""
    printable = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(printable.split())[:_LONGEST_TITLE] or "Deliver"


def _require_oids(*oids: str) -> None:
    """Nothing else may get to git as the name of an object, least of all an option."""
    for oid in oids:
        if _OID.fullmatch(oid) is None:
            raise _invalid("git object id", oid)


def _require_session(name: str) -> None:
    if _SESSION.fullmatch(name) is None:
        raise _invalid("name of a session", name)


def _invalid(kind: str, found: str) -> Rejected:
    return Rejected(f"{found!r} is not a valid {kind}", stage="accept")


def _blob_oid(content: bytes, alike: str) -> str:
    """The id that git gives to a blob, of the same length as that one."""
    whole = b"blob %d\0" % len(content) + content
    found = sha1(whole, usedforsecurity=False) if len(alike) == _SHA1 else sha256(whole)
    return found.hexdigest()


def _name(change: FileChange) -> bytes:
    return change.path.encode(errors="surrogateescape") + b"\0"


def _length(words: Iterable[str]) -> int:
    """The bytes of words on a command line."""
    return len(shlex.join(words).encode())


def _at_once(items: Sequence[_T], size: Callable[[_T], int]) -> Iterator[Sequence[_T]]:
    """The items in their order, as many at once as one script can be given."""
    begin = total = 0
    for end, each in enumerate(items):
        total += size(each) + 1
        if total > _WORDS and end > begin:
            yield items[begin:end]
            begin, total = end, size(each) + 1
    if items:
        yield items[begin:]
