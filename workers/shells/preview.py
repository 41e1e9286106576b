"""Finds out what a command would change on a host (`remote/preview.sh`), and what nobody saw."""

import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from shared.domain.errors import Rejected, ReplanError
from shared.domain.preview import (
    ChangeKind,
    Content,
    FileChange,
    FileKind,
    FileState,
    NoPreview,
    Preview,
    Signalled,
    Unseen,
    UnseenKind,
)
from shared.secrets.masking import Masker
from shared.secrets.sent import variables_in
from workers.shells.ports import Call, Shell
from workers.shells.preview_limits import unseen_in

SECONDS = 5
"""How long a command may run in a preview."""

KILOBYTES = 65_536
"""What it may write there."""

LONGEST = 40_000
"""Bytes of a command that can be previewed: it is sent together with the script."""

_PATIENCE = 20.0
"""Seconds for building the place and for comparing."""

_DIFFS = 48_000
"""Characters of all diffs of a preview together."""

_COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the guard reads in a text: the programs that it starts, None if that cannot be known.

    With `contents`, it reads no secret: how it changes texts may be shown.
    """

    programs: Collection[str] | None
    contents: bool


Read = Callable[[str], Reading]

_COMPLAINTS = {
    "network": UnseenKind.NETWORK,
    "daemon": UnseenKind.SERVICE,
    "space": UnseenKind.SPACE,
    "fixed_file": UnseenKind.FILE_SYSTEM,
    "no_rights": UnseenKind.RIGHTS,
}
_ENDED = {
    "time": UnseenKind.TIME_LIMIT,
    "background": UnseenKind.BACKGROUND,
    "processes": UnseenKind.PROCESSES,
    "memory": UnseenKind.MEMORY,
}
_KINDS = {0o100000: FileKind.FILE, 0o040000: FileKind.FOLDER, 0o120000: FileKind.LINK}
_NONE = {reason.value: reason for reason in NoPreview}
_CHANGES = {kind.value: kind for kind in ChangeKind}
_CONTENT = {"same": Content.SAME, "private": Content.WITHHELD, "large": Content.LARGE}


@dataclass(frozen=True, slots=True)
class Wanted:
    """A command to preview, in the bytes that would reach the host.

    `test` is a command that runs after it in the same place.
    """

    command: str
    test: str = ""


def preview(shell: Shell, wanted: Wanted, read_text: Read, masker: Masker) -> Preview:
    """What the command would change on the host of the shell; nothing of it stays.

    Never raises for what the host says or cannot do: the result says that there is no preview.
    """
    if len(wanted.command.encode(errors="replace")) + len(wanted.test) > LONGEST:
        return Preview(none=NoPreview.TOO_LONG)
    text = f"{wanted.command}\n{wanted.test}"
    reading = read_text(text)
    call = Call(_text_of(wanted, reading), SECONDS + _PATIENCE, parsed=True)
    try:
        call.require_valid()
        result = shell.run(call)
    except Rejected:
        return Preview(none=NoPreview.TOO_LONG)
    except ReplanError:
        return Preview(none=NoPreview.FAILED)
    found = read(result.stdout, contents=reading.contents)
    if found.none is not None:
        return found
    unseen = (*unseen_in(text, reading.programs), *_secrets_in(wanted.command), *found.unseen)
    return _mask(replace(found, unseen=_merge(unseen)), masker)


def _text_of(wanted: Wanted, reading: Reading) -> str:
    started = reading.programs
    words = (
        "begin",
        str(SECONDS),
        str(KILOBYTES),
        "yes" if started is None or "sudo" in started else "no",
        wanted.command,
        wanted.test,
        *variables_in(wanted.command),
    )
    return f'text={shlex.quote(_script())}\nsh -c "$text" preview "$text" {shlex.join(words)}\n'


@cache
def _script() -> str:
    text = files("workers.shells.remote").joinpath("preview.sh").read_text(encoding="utf-8")
    return "\n".join(line for line in _COMMENT.sub("", text).splitlines() if line)


def _secrets_in(command: str) -> Iterator[Unseen]:
    if names := variables_in(command):
        yield Unseen(UnseenKind.SECRETS, ", ".join(names))


def _merge(unseen: Iterable[Unseen]) -> tuple[Unseen, ...]:
    """Each kind once, with everything that is named for it."""
    named: dict[UnseenKind, dict[str, None]] = {}
    for each in unseen:
        known = named.setdefault(each.kind, {})
        if each.what:
            known[each.what] = None
    return tuple(Unseen(kind, ", ".join(list(known)[:10])) for kind, known in named.items())


def _mask(found: Preview, masker: Masker) -> Preview:
    """The preview without secrets, and with no more text than people read."""
    room = _DIFFS
    changes: list[FileChange] = []
    for each in found.changes:
        diff = masker.text(each.diff)[:room]
        room -= len(diff)
        source = None if each.source is None else masker.text(each.source)
        changes.append(replace(each, path=masker.text(each.path), source=source, diff=diff))
    unseen = tuple(replace(each, what=masker.text(each.what)) for each in found.unseen)
    signals = tuple(
        Signalled(masker.text(each.command), tuple(map(masker.text, each.processes)))
        for each in found.signals
    )
    return replace(found, changes=tuple(changes), unseen=unseen, signals=signals)


Fields = Sequence[tuple[str, str]]


def read(output: bytes, *, contents: bool) -> Preview:
    """The preview that the script printed; without `contents`, no diff is in it.

    Never raises: what no script of ours prints is not a preview.
    """
    try:
        return _read(output, contents=contents)
    except (LookupError, ValueError):
        return Preview(none=NoPreview.FAILED)


def _read(output: bytes, *, contents: bool) -> Preview:
    told = [_field(each) for each in output.split(b"\0")[:-1]]
    for name, value in told:
        if name == "none":
            return Preview(none=_NONE.get(value, NoPreview.FAILED))
    if not told or told[-1][0] != "done":
        return Preview(none=NoPreview.FAILED)
    groups = list(_groups(told))
    account = _account(told)
    changes = _with_moves([_change(group, account, contents=contents) for group in groups])
    code = next((int(value) for name, value in told if name == "code"), None)
    unseen = (*_unseen_by(told), *_aliases(told, changes), *_hard_links(groups))
    stopped = any(name == "ended" and value != "background" for name, value in told)
    if code and not stopped:
        unseen = (*unseen, Unseen(UnseenKind.EXIT_CODE, str(code)))
    return Preview(
        changes=changes,
        unseen=_merge(unseen),
        signals=tuple(_signals(told)),
        exit_code=None if stopped else code,
    )


def _field(written: bytes) -> tuple[str, str]:
    name, _, value = written.decode(errors="backslashreplace").partition("=")
    return name, value


def _groups(told: Fields) -> Iterator[Fields]:
    """The fields of each change."""
    group: list[tuple[str, str]] = []
    for name, value in told:
        if name in _CHANGES:
            if group:
                yield group
            group = [(name, value)]
        elif group:
            group.append((name, value))
    if group:
        yield group


def _account(told: Fields) -> tuple[int, int]:
    """Whose the files are that a preview shows as root's: those of the account that looks."""
    known = next((value for name, value in told if name == "account"), "0 0")
    owner, group = known.split()
    return int(owner), int(group)


def _change(group: Fields, account: tuple[int, int], *, contents: bool) -> FileChange:
    kind, path = group[0]
    known = dict(group[1:])
    content = next((_CONTENT[name] for name in _CONTENT if name in known), Content.UNKNOWN)
    diff = known.get("diff", "")
    if diff and not contents:
        content, diff = Content.WITHHELD, ""
    elif diff and not _is_text(diff):
        diff = ""
    elif diff:
        content = Content.SHOWN
    return FileChange(
        _CHANGES[kind],
        path,
        before=_state(known.get("was"), known.get("had"), account),
        after=_state(known.get("is"), known.get("has"), account),
        source=known.get("digest"),  # until it is known what was moved
        files=int(known["files"]) if "files" in known else None,
        content=content,
        diff=diff,
        attributes="attributes" in known,
    )


def _is_text(diff: str) -> bool:
    return diff.startswith("---")


def _state(stat: str | None, target: str | None, account: tuple[int, int]) -> FileState | None:
    try:
        mode, owner, group, size, _ = (stat or "").split()
    except ValueError:
        return None
    bits = int(mode, 16)
    kind = _KINDS.get(bits & 0o170000, FileKind.OTHER)
    ids = (int(owner) or account[0], int(group) or account[1])
    return FileState(kind, bits & 0o7777, *ids, int(size), target)


def _with_moves(changes: Sequence[FileChange]) -> tuple[FileChange, ...]:
    """A file that is gone here and was created there with the same bytes was moved."""
    gone = {each.source: each for each in changes if each.kind is ChangeKind.DELETED}
    moved: dict[str, FileChange] = {}
    for each in changes:
        if each.kind is not ChangeKind.CREATED or not each.source:
            continue
        before = gone.get(each.source)
        if before is not None and before.path not in moved and not each.source.endswith(" 0"):
            moved[before.path] = each
    found: list[FileChange] = []
    for each in changes:
        if each.path in moved and each.kind is ChangeKind.DELETED:
            new = replace(moved[each.path], kind=ChangeKind.MOVED, before=each.before)
            found.append(replace(new, source=each.path, content=Content.SAME, diff=""))
        elif each not in moved.values():
            found.append(replace(each, source=None))
    return tuple(found)


def _unseen_by(told: Fields) -> Iterator[Unseen]:
    """What the script says that it has not seen."""
    for name, value in told:
        match name:
            case "complaint" if value in _COMPLAINTS:
                yield Unseen(_COMPLAINTS[value])
            case "ended":
                yield Unseen(_ENDED[value])
            case "service":
                yield Unseen(UnseenKind.SERVICE, value)
            case "device":
                yield Unseen(UnseenKind.DEVICES, value)
            case "full":
                yield Unseen(UnseenKind.SPACE)
            case "lacks" if value in {"cmp", "diff"}:
                yield Unseen(UnseenKind.CONTENT)
            case "unmounted":
                yield Unseen(UnseenKind.FILE_SYSTEM, value)
            case "many":
                yield Unseen(UnseenKind.MANY, value)
            case _:
                continue


def _aliases(told: Fields, changes: Iterable[FileChange]) -> Iterator[Unseen]:
    """The changes below a place whose files the host shows elsewhere, too."""
    mounts = [value.split(" ", 2) for name, value in told if name == "mount"]
    devices = [device for device, _, _ in mounts]
    for each in changes:
        at = _mount_of(each.path, mounts)
        if at is not None and devices.count(at[0]) > 1:
            yield Unseen(UnseenKind.TWO_PLACES, each.path)


def _mount_of(path: str, mounts: Iterable[list[str]]) -> list[str] | None:
    holding = [m for m in mounts if path.startswith(f"{m[2].rstrip('/')}/")]
    return max(holding, key=lambda mount: len(mount[2]), default=None)


def _hard_links(groups: Iterable[Fields]) -> Iterator[Unseen]:
    for group in groups:
        kind, path = group[0]
        mode, *_, names = dict(group[1:]).get("was", "0 1").split()
        folder = _KINDS.get(int(mode, 16) & 0o170000) is FileKind.FOLDER
        if kind == "changed" and not folder and int(names) > 1:
            yield Unseen(UnseenKind.HARD_LINKS, path)


def _signals(told: Fields) -> Iterator[Signalled]:
    commands: list[tuple[str, list[str]]] = []
    for name, value in told:
        if name == "signal":
            commands.append((value, []))
        elif name == "process" and commands:
            commands[-1][1].append(value)
    for command, processes in commands:
        yield Signalled(command, tuple(processes))
