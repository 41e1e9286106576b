"""What a redirection gives a command to read."""

from shared.guard.secret_words import secret_behind
from shared.guard.shell.expand import Expansion
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.streams import Input
from shared.guard.shell.tree import Redirect
from shared.guard.words import Text, Word

_STANDARD = ("", "0")


def redirected_input(
    walk: Interpreter, redirect: Redirect, target: Word, expansion: Expansion, given: Input
) -> Input:
    """The standard input behind one redirection; `given` is that before it."""
    if redirect.body is not None:
        return _of_text(walk, redirect, expansion.value(redirect.body), given)
    if target.prefix.startswith(("/dev/tcp/", "/dev/udp/")):
        walk.doubt("network-redirect", f"it opens a network connection: {target}")
    if redirect.operator in ("<", "<>"):
        walk.add_run((), "", expansion.scope, reads=(target,))
        if redirect.descriptor in _STANDARD:
            return Input(file=target, makers=target.makers)
        if secret_behind((target,)):
            _doubt_descriptor(walk)
    if redirect.operator == "<&":
        return Input(piped=True)
    return given


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
