"""What a redirection gives a command to read."""

import re

from shared.guard.secret_words import secret_behind
from shared.guard.shell.expand import Expansion
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.streams import Input
from shared.guard.shell.tree import Redirect
from shared.guard.words import Text, Word, literal_word

_CONNECTION = re.compile(r"/dev/tcp/([\w.:-]+)/(\d+)")
_STANDARD = ("", "0")


def redirected_input(
    walk: Interpreter, redirect: Redirect, target: Word, expansion: Expansion, given: Input
) -> Input:
    """The standard input behind one redirection; `given` is that before it."""
    if redirect.body is not None:
        return _of_text(walk, redirect, expansion.value(redirect.body), given)
    if target.prefix.startswith(("/dev/tcp/", "/dev/udp/")):
        return _of_network(walk, redirect, target, expansion)
    if redirect.operator in ("<", "<>"):
        walk.add_run((), "", expansion.scope, reads=(target,))
        if redirect.descriptor in _STANDARD:
            return Input(file=target, makers=target.makers)
        if secret_behind((target,)):
            _doubt_descriptor(walk)
    if redirect.operator == "<&":
        return Input(piped=True)
    return given


def _of_network(walk: Interpreter, redirect: Redirect, target: Word, expansion: Expansion) -> Input:
    """What is only read from a connection is opened as `nc -z` opens it: nothing is sent."""
    found = _CONNECTION.fullmatch(target.literal or "")
    if found is None or redirect.operator != "<":
        walk.doubt("network-redirect", f"it opens a network connection: {target}")
    else:
        words = tuple(map(literal_word, ("nc", "-z", *found.groups())))
        walk.add_run(words, "nc", expansion.scope)
    return Input(file=target, piped=True)


def names_descriptor(redirect: Redirect, target: Word) -> bool:
    """Whether it duplicates or closes a descriptor, and opens no file."""
    text = target.literal
    return redirect.operator == ">&" and text is not None and text.strip("0123456789-") == ""


def _of_text(walk: Interpreter, redirect: Redirect, text: Word, given: Input) -> Input:
    if redirect.operator == "<<<":
        text = Word((*text.pieces, Text("\n")))
    if redirect.descriptor in _STANDARD:
        return Input(text=text)
    if secret_behind((text,)):
        _doubt_descriptor(walk)
    return given


def _doubt_descriptor(walk: Interpreter) -> None:
    walk.doubt("secret-elsewhere", "it hands a secret over on another descriptor")
