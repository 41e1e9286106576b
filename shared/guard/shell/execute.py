"""One command with its words known: what runs, directly and inside its arguments."""

import re
from dataclasses import replace

from shared.guard.programs.inline_code import INTERPRETERS, SHELL_NAMES, language
from shared.guard.programs.interpreters import script_program, shell_program
from shared.guard.secret_words import secret_behind
from shared.guard.shell.arguments import follow_arguments
from shared.guard.shell.builtins import BUILTINS
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.outputs import output
from shared.guard.shell.scope import Scope
from shared.guard.shell.scripts import run_file, run_shell
from shared.guard.shell.streams import Effect, Input, sources, unchanged
from shared.guard.shell.wrapped import follow_wrapper
from shared.guard.shell.written_files import File, copies, downloads, output_files
from shared.guard.words import Run, Word, unknown_word

MOST_WORDS = 2000
"""A command with more is not judged without a person."""

_NO_INPUT = frozenset({"", "\n", "Q", "Q\n"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


def execute(
    walk: Interpreter,
    words: tuple[Word, ...],
    scope: Scope,
    given: Input,
    *,
    functions: bool = True,
) -> Effect:
    """Follow a command; `functions` is False where the shell's functions are not looked at."""
    name = words[0].literal
    if len(words) > MOST_WORDS:
        walk.doubt("too-large", f"one of its commands has more than {MOST_WORDS} words")
        words = words[:MOST_WORDS]
    if name is None:
        walk.doubt("unknown-command", f"which program runs is not known: {words[0]}")
        return unchanged(scope)
    if _ASSIGNMENT.match(name):
        walk.doubt("unknown-command", f"it may be a variable or a program: {name}")
        words = words[1:] or words
        name = words[0].literal or ""
    if name in walk.aliases:
        walk.doubt("alias", f"{name} is an alias")
    called = scope.functions.get(name) if functions else None
    with walk.deeper():
        if not called:
            return _program(walk, name, words, scope, given)
        outcome = walk.call(name, called, replace(scope, arguments=words[1:]), given)
        return Effect(
            replace(outcome.succeeded, arguments=scope.arguments),
            replace(outcome.failed, arguments=scope.arguments),
            outcome.output,
        )


def _program(
    walk: Interpreter, name: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> Effect:
    program = name.rpartition("/")[2] or name
    rest = words[1:]
    feeders = sources(_feeders(walk, program, rest, scope, given))
    run = walk.add_run(
        words,
        program,
        scope,
        writes=output_files(program, rest),
        feeders=feeders,
        fed=_secret_of_input(walk, scope, given),
        handed=scope.handed_secrets(),
        idle_input=_is_idle(given),
        source=given.file,
    )
    _remember_files(walk, run, rest, given)
    run_file(walk, words[0], rest, scope, given)
    if program in SHELL_NAMES:
        return run_shell(walk, program, rest, scope, given).within(scope)
    if program in BUILTINS and "/" not in name:
        return BUILTINS[program](walk, rest, scope, given)
    outcome = follow_wrapper(walk, program, rest, scope, given)
    follow_arguments(walk, program, rest, scope, given)
    if outcome is not None:
        return outcome
    return unchanged(scope, output(program, rest, given.text, walk.dialect))


def _secret_of_input(walk: Interpreter, scope: Scope, given: Input) -> str:
    """The secret that standard input may hold, or what is made from it."""
    words = [word for word in (given.text, given.file) if word is not None]
    if given.file is not None:
        words += [file.content for file in walk.files.at(given.file, scope.directories[0])]
    found = secret_behind(words)
    return found or next((run.carries for run in given.makers if run.carries), "")


def _is_idle(given: Input) -> bool:
    """Whether standard input is empty, or a line that only ends a session."""
    if given.text is not None:
        return given.text.literal in _NO_INPUT
    return given.file is not None and given.file.literal == "/dev/null"


def _feeders(
    walk: Interpreter, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> tuple[Run, ...]:
    """The runs whose output is the program, or otherwise the input, of this one."""
    if program in ("eval", ".", "source"):
        return _makers(walk, words, scope, given)
    if program in SHELL_NAMES:
        source = shell_program(words)
    elif language(program) in INTERPRETERS:
        source = script_program(words)
    else:
        return given.makers
    if source.word is None:
        return given.makers if source.source == "input" else ()
    return _makers(walk, (source.word,), scope, given)


def _makers(
    walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input
) -> tuple[Run, ...]:
    makers = [maker for word in words for maker in word.makers]
    for word in words:
        if word.literal in ("/dev/stdin", "/dev/fd/0"):
            makers += given.makers
        for file in walk.files.at(word, scope.directories[0]):
            makers += file.content.makers
    return tuple(makers)


def _remember_files(walk: Interpreter, run: Run, words: tuple[Word, ...], given: Input) -> None:
    """What the run writes may be run later."""
    here = run.directories[0]
    content = given.word if run.program == "tee" else unknown_word(makers=sources((run,)))
    append = run.program == "tee" and any(word.literal in ("-a", "--append") for word in words)
    for path in (*run.writes, *downloads(run.program, words)):
        walk.files.write(path, here, File(content), append=append)
    for source, path in copies(run.program, words):
        walk.files.write(path, here, File(unknown_word(), copy_of=source))
