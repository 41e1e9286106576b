"""From text to tree, through the `shfmt` binary; nothing else of the guard reads shell syntax."""

import json
import re
import shutil
import subprocess
import sysconfig
from collections import OrderedDict
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

from shared.domain.errors import Misconfigured
from shared.domain.next_step import ShellCommand
from shared.guard.shell.convert import Conversion, Unreadable
from shared.guard.shell.tree import Block

TIMEOUT = 3.0
"""Seconds one parse may take; a usual one takes three thousandths."""
MOST_JSON = 16 * 1024 * 1024
CACHED_TREES = 1024
UNREADABLE = "unreadable"
"""The rule of a text that does not parse."""
MOST_TOGETHER = 64 * 1024
"""Bytes of texts that one process is given at once."""
_PARSED_AT_MOST_ONCE = 4096
_NEXT = "__replan_next"


class Dialect(StrEnum):
    """A grammar, under the name that shfmt knows it by."""

    POSIX = "posix"
    BASH = "bash"


_JOINED_COMMENT = re.compile(r"(?:^|[\s;&|()<>`])#[^\n]*\\\n")
"""A comment that ends in a backslash: shfmt takes the next line as a part of it, no shell does."""

_JOINED_OPERATOR = re.compile(r"[$<>`#!*?~{}\[]\\\n|[&|;(]\\\n[&|;()<>]")
"""A line joined inside an operator, as in `$\\<newline>X`: shfmt does not see the operator."""


class BadSyntax(Unreadable):
    """the text does not parse in this dialect."""


_BASH_ONLY = re.compile(
    r"(?<!\$)\{[^\s}]"  # brace expansion, {fd}>
    r"|\\\n"  # a joined line may hide any of the others
    r"|\$['\"\[]|\$\{(?![A-Za-z0-9_]+\})"
    r"|<<<|[<>]\(|\(\(|\[\[|\]\]|=\(|\+=|\|&|&>|>&|;&|;;&|[@?*+!]\("
    r"|\b(?:function|select|time|coproc|let|declare|typeset|local|export|readonly|nameref)\b"
    r"|[A-Za-z0-9_]\["
    r"|=~|:~"
)


def dialects(interpreter: str, text: str) -> tuple[Dialect, ...]:
    """The grammars under which `interpreter` may read `text`.

    `sh` is dash on one host, bash or busybox on another: where the two grammars could read a text
    differently, both do, and the worse verdict counts. Raises Unreadable for other languages.
    """
    match interpreter:
        case "bash" | "rbash":
            return (Dialect.BASH,)
        case "dash":
            return (Dialect.POSIX,)
        case "sh" | "ash":
            if _BASH_ONLY.search(text):
                return (Dialect.POSIX, Dialect.BASH)
            return (Dialect.POSIX,)
        case _:
            raise Unreadable(f"it is a program for {interpreter}, which the guard cannot read")


class Shfmt:
    """The `shfmt` binary, one process a parse; trees of short texts are kept. Thread-safe."""

    def __init__(self, binary: Path | None = None) -> None:
        """Find the binary and run it once; raises Misconfigured when it is not there."""
        self._binary = str(_find_binary(binary))
        self._trees: OrderedDict[tuple[str, Dialect], Block | Unreadable] = OrderedDict()
        self._lock = Lock()
        self.version = self._ask_version()

    def parse(self, text: str, dialect: Dialect) -> Block:
        """The statements of `text`; raises Unreadable, BadSyntax among them."""
        if len(text) > _PARSED_AT_MOST_ONCE:
            return self._parse(text, dialect)
        with self._lock:
            kept = self._trees.get((text, dialect))
        if kept is None:
            try:
                kept = self._parse(text, dialect)
            except BadSyntax as error:
                kept = error
            self._keep(text, dialect, kept)
        if isinstance(kept, Unreadable):
            raise kept
        return kept

    def read_ahead(self, texts: Sequence[str], dialect: Dialect) -> None:
        """Parse many texts with few processes, for `parse` to find; never raises for a text."""
        waiting = [text for text in dict.fromkeys(texts) if self._can_wait(text, dialect)]
        while waiting:
            together, size = [], 0
            while waiting and size < MOST_TOGETHER:
                together.append(waiting.pop())
                size += len(together[-1])
            self._parse_together(together, dialect)

    def _can_wait(self, text: str, dialect: Dialect) -> bool:
        if len(text) > _PARSED_AT_MOST_ONCE or _misread(text) or not text.isascii():
            return False
        with self._lock:
            return (text, dialect) not in self._trees

    def _parse_together(self, texts: list[str], dialect: Dialect) -> None:
        """Keep the trees of all; those that cannot be told apart are left to `parse`."""
        if len(texts) <= 1:
            return
        source = "".join(f"{text}\n{_NEXT}\n" for text in texts).encode()
        try:
            done = self._read(source, dialect)
            blocks = _apart(texts, source, done.stdout, dialect) if done.returncode == 0 else None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return  # Unreadable among them: `parse` will say so of the text that is to blame
        if blocks is None:
            # one of them is unlike the others: it is sought by halves
            half = len(texts) // 2
            self._parse_together(texts[:half], dialect)
            self._parse_together(texts[half:], dialect)
            return
        for text, block in zip(texts, blocks, strict=True):
            self._keep(text, dialect, block)

    def _keep(self, text: str, dialect: Dialect, tree: Block | Unreadable) -> None:
        with self._lock:
            self._trees[text, dialect] = tree
            while len(self._trees) > CACHED_TREES:
                self._trees.popitem(last=False)

    def _parse(self, text: str, dialect: Dialect) -> Block:
        if why := _misread(text):
            raise Unreadable(why)
        try:
            source = text.encode("utf-8", "surrogateescape")
            done = self._read(source, dialect)
        except UnicodeEncodeError as error:
            raise Unreadable("it is not valid Unicode") from error
        except OSError as error:
            raise Unreadable(f"the parser could not be started ({error.strerror})") from error
        if done.returncode != 0:
            message = done.stderr.decode("utf-8", "replace").strip()
            raise BadSyntax(f"it does not parse as {dialect.value} shell: {message[:200]}")
        if len(done.stdout) > MOST_JSON:
            raise Unreadable("it is too large to analyse")
        return _tree(source, done.stdout, dialect)

    def _read(self, text: bytes, dialect: Dialect) -> subprocess.CompletedProcess[bytes]:
        """The answer of the parser, which is asked twice before a long silence is the text's fault.

        This process may have stood still itself, or the machine.
        """
        for last in (False, True):
            try:
                return subprocess.run(
                    [self._binary, "-ln", dialect.value, "--to-json"],
                    input=text,
                    capture_output=True,
                    timeout=TIMEOUT,
                    cwd="/",
                    env={},
                    check=False,
                )
            except subprocess.TimeoutExpired as error:
                if last:
                    told = f"it took more than {TIMEOUT:.0f} seconds to read"
                    raise Unreadable(told) from error
        raise AssertionError("unreachable")

    def _ask_version(self) -> str:
        try:
            done = subprocess.run(
                [self._binary, "--version"],
                capture_output=True,
                timeout=TIMEOUT,
                check=True,
                cwd="/",
                env={},
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise _missing(f"{self._binary} does not run ({error})") from error
        return done.stdout.decode("utf-8", "replace").strip()


@cache
def installed_shfmt() -> Shfmt:
    """The binary of this installation, found once in a process; raises Misconfigured."""
    return Shfmt()


def _misread(text: str) -> str:
    """Why the parser would read the text differently from a shell; empty if it would not."""
    if _JOINED_COMMENT.search(text):
        return "what may be a comment ends in a backslash"
    if _JOINED_OPERATOR.search(text):
        return "a line is joined in the middle of an operator"
    return ""


def _tree(source: bytes, answer: bytes, dialect: Dialect) -> Block:
    try:
        return _block(source, json.loads(answer).get("Stmts"), dialect)
    except RecursionError as error:
        raise Unreadable("it is nested too deeply") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise Unreadable(f"the parser's answer is not understood ({error!r})") from error


def _block(source: bytes, statements: list[Any] | None, dialect: Dialect) -> Block:
    return Conversion(source, posix=dialect is Dialect.POSIX).block(statements)


def _apart(
    texts: list[str], source: bytes, answer: bytes, dialect: Dialect
) -> list[Block | Unreadable] | None:
    """The trees of texts that were parsed one below the other; None when they ran together.

    Each text ends where the mark behind it is a command of its own, at the place where it was put:
    no quote, heredoc, operator or block of the text before has reached into it.
    """
    waiting = iter(json.loads(answer).get("Stmts") or ())
    blocks: list[Block | Unreadable] = []
    end = 0
    for text in texts:
        end += len(text) + 1
        statements = []
        for statement in waiting:
            if statement["Pos"]["Offset"] >= end:
                break
            statements.append(statement)
        else:
            return None
        if not _is_mark(statement, end):
            return None
        try:
            blocks.append(_block(source, statements, dialect))
        except Unreadable as error:
            blocks.append(error)
        end += len(_NEXT) + 1
    return blocks


def _is_mark(statement: dict[str, Any], offset: int) -> bool:
    command = statement.get("Cmd") or {}
    return (
        statement["Pos"]["Offset"] == offset
        and statement["End"]["Offset"] == offset + len(_NEXT)
        and command.get("Type") == "CallExpr"
        and not statement.get("Redirs")
        and not statement.get("Background")
    )


def _find_binary(binary: Path | None) -> Path:
    if binary is not None:
        if binary.is_file():
            return binary
        raise _missing(f"{binary} is not there")
    beside_python = Path(sysconfig.get_path("scripts")) / "shfmt"
    if beside_python.is_file():
        return beside_python
    on_path = shutil.which("shfmt")
    if on_path is None:
        raise _missing("the shfmt program was not found")
    return Path(on_path)


def _missing(what: str) -> Misconfigured:
    return Misconfigured(
        f"commands cannot be checked: {what}; it comes with the package shfmt-py",
        stage="guard",
        next_step=ShellCommand("python -m pip install shfmt-py"),
    )


def syntax_error(text: str) -> str:
    """Why neither grammar of a shell has this text; empty if one has it, or it cannot be read."""
    told = ""
    for dialect in Dialect:
        try:
            installed_shfmt().parse(text, dialect)
        except BadSyntax as error:
            told = str(error)
        except Unreadable:
            return ""
        else:
            return ""
    return told
