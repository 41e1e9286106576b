"""Which programs the commands of checks run, and which files they name; pure."""

import posixpath
import re
import shlex
from collections.abc import Iterator
from typing import Final

_DEEPEST: Final = 3
"""Commands within the words of commands, as in `sh -c 'make test'`, that are read."""

_ENDS: Final = frozenset("();|&{}") | {"&&", "||", ";;", "|&", "do", "then", "else"}
_COMMAND: Final = re.compile(r"[\s;|&]")
_SET: Final = re.compile(r"-{0,2}[\w.-]+=(.*)", re.DOTALL)
_READERS: Final = frozenset(
    {"test", "[", "[[", "grep", "egrep", "fgrep", "rg", "wc", "ls", "stat", "file"}
)
"""Programs that look at files and run none of them."""


def words_of(check: str, depth: int = _DEEPEST) -> Iterator[str]:
    """The words of a command, and of the commands in them: among them are all programs it runs."""
    for word in _tokens(check):
        yield word
        if depth and _COMMAND.search(word):
            yield from words_of(word, depth - 1)


def named_in(check: str) -> frozenset[str]:
    """The paths, from the root of the tree, that a command may name."""
    return frozenset(_paths(check, "", every=True, depth=_DEEPEST))


def used_by(check: str) -> frozenset[str]:
    """The same without those of programs that look at files and run none (`grep`, `test`)."""
    return frozenset(_paths(check, "", every=False, depth=_DEEPEST))


def _tokens(check: str) -> list[str]:
    text = re.sub(r"[\n`]", " ; ", check)
    try:
        lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        lexer.commenters = ""
        return [part for token in lexer for part in _parted(token)]
    except ValueError:
        return text.split()


def _parted(token: str) -> Iterator[str]:
    """Signs that stand together without being one operator, as `);` does."""
    if token in _ENDS or not token or not set(token) <= set("();|&"):
        yield token
    else:
        yield from token


def _paths(check: str, folder: str, *, every: bool, depth: int) -> Iterator[str]:
    outside = []
    words: list[str] = []
    for sign in (*_tokens(check), ";"):
        if sign not in _ENDS:
            words.append(sign)
            continue
        piped = sign == "|"
        yield from _of_call(words, folder, every=every or (piped and "cat" in words), depth=depth)
        folder = _gone_to(words, folder)
        words = []
        if sign == "(":
            outside.append(folder)
        elif sign == ")" and outside:
            folder = outside.pop()


def _of_call(words: list[str], folder: str, *, every: bool, depth: int) -> Iterator[str]:
    """The paths that one call of a program names."""
    program = next((word for word in words if word != "!" and not _SET.fullmatch(word)), "")
    looks = program.rpartition("/")[2] in _READERS or program == "cat"
    before = ""
    for word in words:
        if depth and _COMMAND.search(word) and ("$(" in word or not looks):
            yield from _paths(word, folder, every=every, depth=depth - 1)
        elif not before.startswith(">") and (every or not looks):
            yield from _placed(word, folder, module=before == "-m")
        before = word


def _placed(word: str, folder: str, *, module: bool) -> Iterator[str]:
    """The paths that a word may stand for, from the root and from the folder."""
    value = _SET.fullmatch(word)
    path = (word if value is None else value[1]).partition("::")[0]
    found = [path]
    if module:
        path = path.replace(".", "/")
        found += [f"{path}.py", f"{path}/__main__.py"]
    for each in found:
        if each and not each.startswith(("/", "-")):
            yield posixpath.normpath(each)
            yield posixpath.normpath(posixpath.join(folder, each))


def _gone_to(words: list[str], folder: str) -> str:
    """The folder after a call: `cd` and `pushd` change it."""
    if words[:1] not in (["cd"], ["pushd"]) or not words[1:]:
        return folder
    return posixpath.normpath(posixpath.join(folder, words[-1]))
