"""Follows what a wrapper runs."""

from contextlib import nullcontext

from shared.guard.paths import START
from shared.guard.programs.inline_code import option_values
from shared.guard.programs.wrappers import Inner, Wrapper, inner_commands
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.scope import Scope
from shared.guard.shell.scripts import run_input
from shared.guard.shell.streams import Effect, Input
from shared.guard.shell.variables import assign
from shared.guard.words import Hole, Run, Text, Word, join, literal_word, unknown_word

_IN_THIS_SHELL = frozenset({"command", "builtin", "exec"})
_ELSEWHERE = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "crictl", "lxc"})
_DIRECTORY_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "env": ("C", ("chdir",)),
    "sudo": ("D", ("chdir",)),
    "systemd-run": ("", ("working-directory",)),
}
_UNKNOWN_WORDS = literal_word(" ${__unknown}")
_READS_PLAINLY = frozenset("nPLrtx")


def follow_wrapper(
    walk: Interpreter, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> Effect | None:
    """Follow what a wrapper runs; None when the program is not one, or runs nothing."""
    outcome = None
    for wrapper, inner in inner_commands(program, words):
        inside = _inside(walk, program, wrapper, inner, scope)
        with nullcontext() if inner.sure else walk.guessing():
            followed = _inner(walk, wrapper, inner, inside, given)
        outcome = outcome or followed
    if outcome is None:
        _shell_on_input(walk, program, words, given)
        return None
    return outcome if program in _IN_THIS_SHELL else outcome.within(scope)


def _inner(
    walk: Interpreter, wrapper: Wrapper, inner: Inner, inside: Scope, given: Input
) -> Effect:
    if wrapper.joins:
        text = join(inner.words)
        if wrapper.extra:
            text = join((text, _UNKNOWN_WORDS), "")
        return walk.code(text, "sh", inside.child(), given)
    words = _with_extra(inner, given) if wrapper.extra else inner.words
    return walk.execute(words, inside, given, functions=False)


def _inside(walk: Interpreter, program: str, wrapper: Wrapper, inner: Inner, scope: Scope) -> Scope:
    if program in _ELSEWHERE or wrapper.remote:
        scope = Scope(arguments=(), directories=(START,))
    for name, value in inner.assigned:
        scope = assign(walk, scope, name, value).export(name)
        walk.add_run((), "", scope, sets=(name,))
    for path in option_values(inner.before, *_DIRECTORY_OPTIONS.get(program, ("", ()))):
        scope = scope.go(path)
    return scope


def _with_extra(inner: Inner, given: Input) -> tuple[Word, ...]:
    """The words with what xargs adds to them, or puts in the place of its mark."""
    marks = {str(value) for value in option_values(inner.before, "I", ("replace",))}
    marked = bool(marks) or any(word.literal == "-i" for word in inner.before)
    marks = marks or {"{}"}
    number = given.text is not None and given.text.numeric
    words = [_mark(word, marks, given.makers, number=number) for word in inner.words]
    if not marked:
        words += _words_read(inner, given)
    return tuple(words)


def _words_read(inner: Inner, given: Input) -> list[Word]:
    """The words that xargs reads, where they are known and it reads them plainly."""
    text = None if given.text is None else given.text.literal
    flags = {letter for word in inner.before for letter in word.prefix[1:] if not letter.isdigit()}
    if text is None or not flags <= _READS_PLAINLY or set(text) & set("\\'\""):
        return [unknown_word(split=True, makers=given.makers)]
    return [literal_word(word) for word in text.split()]


def _mark(word: Word, marks: set[str], makers: tuple[Run, ...], *, number: bool) -> Word:
    text = word.literal
    for mark in marks:
        if text is not None and mark and mark in text:
            before, _, after = text.partition(mark)
            pieces = (Text(before), Hole(makers=makers, number=number), Text(after))
            return Word(tuple(p for p in pieces if not isinstance(p, Text) or p.value))
    return word


def _shell_on_input(walk: Interpreter, program: str, words: tuple[Word, ...], given: Input) -> None:
    """Without a command, `su`, `sudo -s` and `ssh HOST` start a shell that reads its input."""
    if program not in ("su", "ssh", "sudo") or not given.given:
        return
    flags = "".join(word.prefix[1:] for word in words if word.prefix.startswith("-"))
    if program == "su" and any(True for _ in option_values(words, "c", ("command",))):
        return
    if program != "sudo" or "i" in flags or "s" in flags:
        run_input(walk, "sh", Scope(arguments=()), given)
