"""Rights that open programs to others, or close a tree to its own service (X17)."""

import re
from collections.abc import Iterable, Iterator

from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.shell.written_files import operands
from shared.guard.words import Run, Word

RULE = "rights"

_PROGRAMS = re.compile(
    r".*/(?:s?bin|libexec|lib(?:64)?|cgi-bin|plugins|modules|node_modules|venv|\.venv|vendor)(?:/.*)?"
)
_RECURSIVE = re.compile(r"-\w*R\w*|--recursive")
_OCTAL = re.compile(r"[0-7]{3,4}")
_GIVES_WRITING = re.compile(r"(?:[ugoa]*[go][ugoa]*)?[+=]\w*w\w*")
_TAKES_ENTRY = re.compile(r"(?:a|u|[ugo]*u[ugo]*)?-\w*x\w*|(?:a|[ugo]*u[ugo]*)=[rw]*")
_KEEPS_MODES = re.compile(r"-?\w*p\w*|--preserve-permissions|--same-permissions")
_PRIVATE = re.compile(
    r"(?i).*\.(?:key|p12|pfx|jks|keytab|kdbx)|(?:.*/)?(?:\.env[^/]*|id_(?:rsa|ed25519|ecdsa))"
    r"|.*/(?:mail|vmail|maildir|private|secrets?|credentials|backups?|tls|ssl)(?:/.*)?"
)
"""What is not for everybody, by name."""
_GROUP_WRITES = 2
_OTHERS_READ = 4
_OWNER_ENTERS = 1


def opened_verdicts(runs: Iterable[Run]) -> Iterator[Verdict]:
    """A question for each run that changes who may write programs, or enter folders."""
    listed = list(runs)
    as_root = any(run.program in ("sudo", "doas") for run in listed)
    for run in listed:
        why = _of_modes(run) if run.program == "chmod" else _of_archive(run, as_root=as_root)
        if why:
            yield Verdict(VerdictKind.APPROVE, RULE, why, run.part)


def _of_modes(run: Run) -> str | None:
    words = [str(word) for word in run.argv[1:]]
    recursive = any(map(_RECURSIVE.fullmatch, words))
    plain = [word for word in operands(run.argv[1:]) if not _RECURSIVE.fullmatch(str(word))]
    if len(plain) < 2:  # noqa: PLR2004 - a mode and a place
        return None
    modes = [str(word) for word in plain if _is_mode(str(word))][:1]
    if not modes:
        return None
    if recursive and _closes(modes[0]):
        return f"{modes[0]} on a whole tree leaves folders that nobody can enter"
    for word in plain if _shows(modes[0]) else ():
        if _PRIVATE.fullmatch(word.with_placeholder("x")):
            return f"everybody could read {word}"
    return _opened_programs(run, plain) if _opens(modes[0]) else None


def _opened_programs(run: Run, plain: list[Word]) -> str | None:
    for word in plain:
        for here in run.directories:
            if _PROGRAMS.fullmatch(canonical(word, here).with_placeholder("x")):
                return (
                    f"{word} holds programs: whoever may write them has the rights of who runs them"
                )
    return None


def _is_mode(text: str) -> bool:
    return bool(_OCTAL.fullmatch(text) or re.fullmatch(r"[ugoa]*[-+=][rwxXst]*(?:,.*)?", text))


def _closes(mode: str) -> bool:
    """Whether a mode takes the right to enter from the owner of folders."""
    if _OCTAL.fullmatch(mode):
        return not int(mode[-3]) & _OWNER_ENTERS
    return any(map(_TAKES_ENTRY.fullmatch, mode.split(",")))


def _shows(mode: str) -> bool:
    """Whether a mode lets everybody read."""
    if _OCTAL.fullmatch(mode):
        return bool(int(mode[-1]) & _OTHERS_READ)
    return any(
        re.fullmatch(r"(?:[ugoa]*[oa][ugoa]*)?[+=]\w*r\w*", part) for part in mode.split(",")
    )


def _opens(mode: str) -> bool:
    if _OCTAL.fullmatch(mode):
        return any(int(digit) & _GROUP_WRITES for digit in mode[-2:])
    return any(map(_GIVES_WRITING.fullmatch, mode.split(",")))


def _of_archive(run: Run, *, as_root: bool) -> str | None:
    """As root, tar gives what it unpacks the owners and the modes that the archive names."""
    if run.program != "tar" or not as_root:
        return None
    words = [str(word) for word in run.argv[1:]]
    unpacks = any(
        re.fullmatch(r"-?[a-zA-Z]*x[a-zA-Z]*|--extract|--get", word) for word in words[:3]
    )
    keeps = any(map(_KEEPS_MODES.fullmatch, words))
    if unpacks and keeps and "--no-same-permissions" not in words:
        return (
            "it keeps the modes of the archive: a program of root for everybody may be among them"
        )
    return None
