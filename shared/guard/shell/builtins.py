"""Commands that the shell runs itself, and how they change its state."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from shared.guard.paths import NOWHERE
from shared.guard.programs.inline_code import option_values
from shared.guard.programs.numbers import prints_facts
from shared.guard.secret_words import unknown_like
from shared.guard.shell.arithmetic import Evaluated, names_safely
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.outputs import output
from shared.guard.shell.scope import Scope
from shared.guard.shell.scripts import STANDARD_INPUT, run_input, run_script
from shared.guard.shell.streams import Effect, Input, silent, unchanged
from shared.guard.shell.variables import assign
from shared.guard.words import Word, join, literal_word, unknown_word

Builtin = Callable[[Interpreter, tuple[Word, ...], Scope, Input], Effect]
_NAME = re.compile(r"[A-Za-z_]\w*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)\+?=")
_ASSIGNMENTS_ONLY = frozenset({"/etc/os-release", "/usr/lib/os-release", "/etc/lsb-release"})
"""Files of the distribution that set variables and run nothing."""
_DIRECTORY_FLAG = re.compile(r"-[LPen@]+")


def _operands(words: tuple[Word, ...]) -> list[Word]:
    kept: list[Word] = []
    for index, word in enumerate(words):
        if word.literal == "--":
            return [*kept, *words[index + 1 :]]
        if not (word.prefix.startswith("-") and len(word.prefix) > 1):
            kept.append(word)
    return kept


def _change_directory(
    walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input
) -> Effect:
    del walk, given
    operands = [word for word in _operands(words) if not _DIRECTORY_FLAG.fullmatch(str(word))]
    if not operands:
        return Effect(scope.go(scope.value("HOME")), scope, literal_word(""))
    if operands[0].literal == "-" or operands[0].prefix.startswith("+"):
        return Effect(replace(scope, directories=(NOWHERE,)), scope)
    return Effect(scope.go(operands[0]), scope, literal_word(""))


def _pop_directory(
    walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input
) -> Effect:
    del walk, words, given
    return Effect(replace(scope, directories=(NOWHERE,)), scope)


def _local(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    """`local`, `declare`: the variables are gone when the function ends."""
    del given
    names = _declared_names(words)
    walk.local.update(names)
    scope = _declare(walk, words, scope.forget(frozenset(names)), export=_has_flag(words, "x"))
    if _has_flag(words, "r"):
        walk.fixed.update(names)
    return unchanged(scope)


def _readonly(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    del given
    scope = _declare(walk, words, scope, export=False)
    walk.fixed.update(_declared_names(words))
    return unchanged(scope)


def _export(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    del given
    prints = not words or _has_flag(words, "p")
    after = _declare(walk, words, scope, export=True)
    return unchanged(after) if prints else silent(after)


def _has_flag(words: tuple[Word, ...], letters: str) -> bool:
    flags = "".join(word.prefix[1:] for word in words if word.prefix.startswith("-"))
    return any(letter in flags for letter in letters)


def _declared_names(words: tuple[Word, ...]) -> set[str]:
    found = (_NAME.match(word.prefix) for word in words)
    return {name[0] for name in found if name}


def _declare(walk: Interpreter, words: tuple[Word, ...], scope: Scope, *, export: bool) -> Scope:
    if _has_flag(words, "niluc"):
        walk.doubt(
            "variable-attribute", "it declares a variable that changes the value it is given"
        )
    for word in words:
        if found := _ASSIGNMENT.match(word.prefix):
            appended = found[0].endswith("+=")
            rest = word.after(found.end())
            value = unknown_like(scope.value(found[1]), rest) if appended else rest
            scope = assign(walk, scope, found[1], value)
            scope = scope.export(found[1]) if export else scope
        elif word.literal is None:
            scope = _all_unknown(scope)
        elif _NAME.fullmatch(word.literal) and export:
            scope = scope.export(word.literal)
    return scope


def _all_unknown(scope: Scope) -> Scope:
    return scope.forget(frozenset(scope.variables))


def _sets(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    """`read`, `unset`, `getopts` and the like: every name among the words becomes unknown."""
    del given
    names = set()
    for word in words:
        if word.literal is None:
            scope = _all_unknown(scope)
        elif found := _NAME.match(word.literal):
            names.add(found[0])
    for word in words:
        if not word.prefix.startswith("-"):
            _doubt_name(walk, word, scope)
    for name in sorted(names):
        scope = assign(walk, scope, name, unknown_word())
    return silent(scope)


def _printf(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    if words and words[0].prefix.startswith("-v"):
        attached = words[0].after(len("-v"))
        return _sets(walk, (attached,) if str(attached) else words[1:2], scope, given)
    return unchanged(scope, output("printf", words, given.text, walk.dialect))


def _test(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    del given
    for operator, operand in pairwise(words):
        if operator.literal in ("-v", "-R"):
            _doubt_name(walk, operand, scope)
    for word in words:
        if word.splits and not word.numeric and not prints_facts(word.makers):
            walk.doubt("arithmetic-code", f"bash may run a command in what it splits: {word}")
    return silent(scope)


def _doubt_name(walk: Interpreter, word: Word, scope: Scope) -> None:
    """A word that is the name of a variable: bash evaluates what may stand behind it in `[…]`."""
    if why := names_safely(word, Evaluated(scope, bash=True)):
        walk.doubt("arithmetic-code", why)


def _set(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    del walk, given
    if any(not word.prefix.startswith(("-", "+")) or word.literal == "--" for word in words):
        scope = replace(scope, arguments=None)
    return unchanged(scope)


def _shift(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    del walk, given
    count = words[0].literal if words else "1"
    if scope.arguments is None or count is None or not count.isdecimal():
        return silent(replace(scope, arguments=None))
    return silent(replace(scope, arguments=scope.arguments[int(count) :]))


def _eval(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    return walk.here(join(words), scope, given)


def _source(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    if not words:
        return unchanged(scope)
    interpreter = "bash" if walk.dialect == "bash" else "dash"
    inside = replace(scope, arguments=words[1:]) if words[1:] else scope
    if words[0].literal in STANDARD_INPUT:
        return run_input(walk, interpreter, inside, given)
    written = walk.files.at(words[0], scope.directories[0])
    if not written and words[0].literal in _ASSIGNMENTS_ONLY:
        walk.add_run((literal_word("cat"), words[0]), "cat", scope)
        return unchanged(_all_unknown(scope))
    if not written and not words[0].unknown:
        walk.doubt("sourced-file", f"it reads {words[0]}, which may change what later words mean")
        return unchanged(_all_unknown(scope))
    return run_script(walk, words[0], interpreter, inside, given)


def _trap(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    del given
    operands = _operands(words)
    if len(operands) > 1 and operands[0].literal not in ("-", ""):
        walk.later(operands[0], scope)
    return unchanged(scope)


def _alias(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    for word in _operands(words):
        name, equals, _ = word.prefix.partition("=")
        if equals:
            walk.aliases.add(name)
            walk.here(word.after(len(name) + 1), scope, given)
        elif word.literal is None:
            walk.doubt("alias", "it defines an alias that is not known")
    return unchanged(scope)


def _changes_shell(
    walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input
) -> Effect:
    del given
    if words:
        walk.doubt("shell-changed", "it changes which program a command name means")
    return unchanged(scope)


def _mapfile(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> Effect:
    for callback in option_values(words, "C", ()):
        walk.here(callback, scope, given)
    return _sets(walk, words, scope, given)


BUILTINS: dict[str, Builtin] = {
    "cd": _change_directory,
    "chdir": _change_directory,
    "pushd": _change_directory,
    "popd": _pop_directory,
    "export": _export,
    "readonly": _readonly,
    "local": _local,
    "declare": _local,
    "typeset": _local,
    "nameref": _changes_shell,
    "read": _sets,
    "unset": _sets,
    "getopts": _sets,
    "let": _sets,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "printf": _printf,
    "test": _test,
    "[": _test,
    "set": _set,
    "shift": _shift,
    "eval": _eval,
    ".": _source,
    "source": _source,
    "trap": _trap,
    "alias": _alias,
    "hash": _changes_shell,
    "enable": _changes_shell,
    "bind": _changes_shell,
}
