"""What a command would change on a host, in words."""

from collections.abc import Iterator

from orchestrator.words.quantities import count_of
from orchestrator.words.visible_text import visible, visible_line
from shared.domain.preview import (
    NO_PREVIEW_WORDS,
    ChangeKind,
    Content,
    FileChange,
    FileKind,
    FileState,
    Preview,
    UnseenKind,
)

MOST = 40
"""Changes that are shown."""

_UNSEEN = {
    UnseenKind.NETWORK: "what it does over the network",
    UnseenKind.SERVICE: "what services do for it",
    UnseenKind.PACKAGES: "what the package manager and its scripts do",
    UnseenKind.SIGNALS: "what becomes of the processes that it signals",
    UnseenKind.SECRETS: "what it does with its secrets: they were empty",
    UnseenKind.RIGHTS: "what needs rights that a preview does not have",
    UnseenKind.KERNEL: "settings of the kernel, mounts and the machine",
    UnseenKind.DEVICES: "what it does with devices",
    UnseenKind.FILE_SYSTEM: "what it writes where a preview cannot write",
    UnseenKind.TWO_PLACES: "the other place where the host shows the same files",
    UnseenKind.HARD_LINKS: "the other names of the file",
    UnseenKind.ATTRIBUTES: "attributes and access lists of files",
    UnseenKind.CONTENT: "how contents differ: the host cannot compare files",
    UnseenKind.TIME_LIMIT: "what it does later: it was ended when its time was over",
    UnseenKind.BACKGROUND: "what the processes do later that it leaves running",
    UnseenKind.PROCESSES: "what it does later: it was ended because it started too many processes",
    UnseenKind.MEMORY: "what it does later: it was ended because it took too much memory",
    UnseenKind.SPACE: "what does not fit: it writes more than a preview has room for",
    UnseenKind.EXIT_CODE: "what it does when it succeeds: in the preview it failed, exit code",
    UnseenKind.MANY: "further changes, in all",
    UnseenKind.EARLIER: "what it does after the commands before it, which have not run yet",
    UnseenKind.UNREADABLE: "what else it may do: the guard cannot tell all that it runs",
}
_KINDS = {
    FileKind.FILE: "file",
    FileKind.FOLDER: "folder",
    FileKind.LINK: "link",
    FileKind.OTHER: "special file",
}
_CONTENT = {
    Content.SHOWN: "",
    Content.SAME: "the same content",
    Content.WITHHELD: "content not shown: it may be private",
    Content.LARGE: "content too large to show",
    Content.UNKNOWN: "",
}


def describe_preview(preview: Preview) -> Iterator[tuple[str, str]]:
    """Describe a preview for a person, as pairs of a name and a text."""
    if preview.none is not None:
        yield "effects", f"not known: {NO_PREVIEW_WORDS[preview.none]}"
        return
    yield "effects", "\n".join(_effects(preview))
    for each in preview.signals:
        processes = ", ".join(map(visible_line, each.processes)) or "which processes is not known"
        yield "signals", f"{visible_line(each.command)}: {processes}"
    if preview.unseen:
        yield "not seen", "\n".join(_unseen(preview))


def _effects(preview: Preview) -> Iterator[str]:
    changes = preview.changes
    if not changes:
        yield "none seen on files" if preview.unseen else "none on files"
    for each in changes[:MOST]:
        yield from _change(each)
    if len(changes) > MOST:
        yield f"and {len(changes) - MOST} more"


def _change(change: FileChange) -> Iterator[str]:
    told = [detail for detail in _details(change) if detail]
    path = visible_line(change.path)
    if change.kind is ChangeKind.MOVED:
        path = f"{visible_line(change.source or '')} -> {path}"
    yield f"{change.kind.value} {path}" + (f" ({', '.join(told)})" if told else "")
    lines = visible(change.diff).split("\n")[2:] if change.diff else []
    yield from (f"  {line}" for line in lines)


def _details(change: FileChange) -> Iterator[str]:
    before, after = change.before, change.after
    if change.kind is ChangeKind.DELETED and before is not None:
        yield _KINDS[before.kind] if before.kind is not FileKind.FILE else ""
        if change.files is not None and change.files > 1:
            yield f"with {count_of(change.files - 1, 'path')} in it"
    elif change.kind is ChangeKind.CREATED and after is not None:
        yield _state(after)
    elif before is not None and after is not None:
        yield from _differences(before, after)
    if change.attributes:
        yield "attributes or access lists change"
    if change.kind is not ChangeKind.DELETED:
        yield _CONTENT[change.content]


def _state(state: FileState) -> str:
    target = "" if state.target is None else f" to {visible_line(state.target)}"
    return f"{_KINDS[state.kind]}{target}, mode {state.mode:04o}, owner {state.owner}:{state.group}"


def _differences(before: FileState, after: FileState) -> Iterator[str]:
    if before.kind is not after.kind:
        yield f"{_KINDS[before.kind]} becomes {_state(after)}"
        return
    if before.target != after.target:
        targets = (visible_line(each.target or "") for each in (before, after))
        yield f"link to {' -> '.join(targets)}"
    if before.mode != after.mode and before.kind is not FileKind.LINK:
        yield f"mode {before.mode:04o} -> {after.mode:04o}"
    if (before.owner, before.group) != (after.owner, after.group):
        yield f"owner {before.owner}:{before.group} -> {after.owner}:{after.group}"
    if before.size != after.size and before.kind is FileKind.FILE:
        yield f"{before.size} -> {after.size} bytes"


def _unseen(preview: Preview) -> Iterator[str]:
    for each in preview.unseen:
        what = visible_line(each.what)
        yield f"{_UNSEEN[each.kind]} ({what})" if what else _UNSEEN[each.kind]
