"""Reads the words of a command far enough to tell what it names; pure.

It need not be exact: what it names wrongly only makes a question that finds nothing. What a command
may do is decided by the guard alone.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_MOST_TEXT = 20_000
_ENDS = frozenset({";", "&", "&&", "|", "||", "|&", "(", ")", "\n", ";;"})
_REDIRECTIONS = frozenset({">", ">>", "<", ">&", "&>", "&>>", ">|", "<>"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_KEYWORDS = frozenset(
    {"!", "{", "}", "if", "then", "elif", "else", "while", "until", "do", "fi", "done"}
)

_WRAPPERS: dict[str, frozenset[str]] = {
    "sudo": frozenset({"-u", "-g", "-h", "-p", "-C", "-D"}),
    "runuser": frozenset({"-u", "-g", "-G"}),
    "setpriv": frozenset({"--reuid", "--regid"}),
    "env": frozenset({"-u", "-C"}),
    "nice": frozenset({"-n"}),
    "timeout": frozenset({"-k", "-s"}),
    "nohup": frozenset(),
    "command": frozenset(),
    "exec": frozenset(),
    "time": frozenset(),
}
"""Programs that run the program named after them, and their options that take a value."""

_AS = {"sudo": ("-u",), "runuser": ("-u",), "setpriv": ("--reuid",)}
_SHELLS = frozenset({"sh", "bash", "dash", "ash"})
_DEEPEST = 2


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """A program with its arguments, where redirections lead, and the accounts that it runs as."""

    program: str
    arguments: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The program without its folder."""
        return self.program.rpartition("/")[2]

    @property
    def operands(self) -> tuple[str, ...]:
        """The arguments that are not options."""
        return tuple(word for word in self.arguments if not word.startswith("-"))

    def values(self, *options: str) -> list[str]:
        """The values of these options, given as the next word or after `=`."""
        found: list[str] = []
        for at, word in enumerate(self.arguments):
            name, mark, value = word.partition("=")
            if word in options and at + 1 < len(self.arguments):
                found.append(self.arguments[at + 1])
            elif mark and name in options:
                found.append(value)
        return found


def simple_commands(text: str, depth: int = 0) -> tuple[SimpleCommand, ...]:
    """The simple commands of a text, in order, with those in the text that a `sh -c` is given."""
    found: list[SimpleCommand] = []
    for words, targets in _split(text[:_MOST_TEXT]):
        command = _unwrapped(words, targets)
        if command is None:
            continue
        found.append(command)
        if depth < _DEEPEST and (inner := _inner(command)):
            found += simple_commands(inner, depth + 1)
    return tuple(found)


def run_as(text: str) -> str:
    """The account that a command changes to, the first one; empty if it stays as it is."""
    return next((name for each in simple_commands(text) for name in each.accounts), "")


def _inner(command: SimpleCommand) -> str:
    """The text that a shell or `su` is given to run."""
    if command.name in _SHELLS or command.name == "su":
        given = command.values("-c", "-lc", "-ec", "-ce", "--command")
        return given[0] if given else ""
    return ""


def _tokens(text: str) -> Sequence[str]:
    reader = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars=";&|()<>")
    reader.whitespace_split = True
    reader.commenters = ""
    try:
        return list(reader)
    except ValueError:
        return text.replace("'", " ").replace('"', " ").split()


def _split(text: str) -> Iterator[tuple[list[str], list[str]]]:
    words: list[str] = []
    targets: list[str] = []
    redirected = False
    for token in (*_tokens(text), ";"):
        if token in _ENDS:
            if words or targets:
                yield words, targets
            words, targets, redirected = [], [], False
        elif token in _REDIRECTIONS:
            redirected = True
            if words and words[-1].isdecimal():
                words.pop()
        elif redirected:
            targets += [] if token.isdecimal() else [token]
            redirected = False
        elif words or token not in _KEYWORDS:
            words.append(token)


def _unwrapped(words: Sequence[str], targets: Sequence[str]) -> SimpleCommand | None:
    """The command without assignments and wrappers; None if no program is left."""
    at = 0
    accounts: list[str] = []
    while at < len(words):
        word = words[at]
        name = word.rpartition("/")[2]
        if _ASSIGNMENT.match(word):
            at += 1
        elif name in _WRAPPERS:
            at, account = _skip(words, at, name)
            accounts += account
        else:
            break
    if at >= len(words):
        return None
    command = SimpleCommand(words[at], tuple(words[at + 1 :]), tuple(targets), tuple(accounts))
    if command.name == "su" and command.operands:
        return SimpleCommand(
            command.program, command.arguments, command.targets, (command.operands[0],)
        )
    return command


def _skip(words: Sequence[str], at: int, name: str) -> tuple[int, list[str]]:
    """Where what the wrapper runs begins, and the account that it changes to."""
    accounts: list[str] = []
    at += 1
    while at < len(words) and words[at].startswith("-"):
        option, mark, value = words[at].partition("=")
        takes = option in _WRAPPERS[name] and not mark
        given = value if mark else (words[at + 1] if takes and at + 1 < len(words) else "")
        if option in _AS.get(name, ()) and given:
            accounts.append(given)
        at += 2 if takes else 1
    if name == "timeout":
        at += 1
    return at, accounts or (["root"] if name == "sudo" else [])
