"""Shell programs: given as a text, in a file, or on standard input."""

from dataclasses import replace

from shared.guard.programs.interpreters import shell_program
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.scope import Scope
from shared.guard.shell.streams import Effect, Input, unchanged
from shared.guard.shell.written_files import File
from shared.guard.words import Hole, Word, literal_word

STANDARD_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0", "-"})
_OTHER_SHELLS = frozenset({"ksh", "mksh", "zsh"})
_NO_FILES = ("/dev/", "/proc/")


def run_shell(
    walk: Interpreter, shell: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> Effect:
    """Follow `sh WORDS…`."""
    program = shell_program(words)
    interpreter = "bash" if shell in ("bash", "rbash") else "sh"
    inside = replace(scope.child(), arguments=program.arguments)
    if shell in _OTHER_SHELLS:
        walk.doubt("other-language", f"{shell} reads a language of its own")
    if program.name is not None:
        inside = inside.assign("0", program.name)
    if program.startup is not None:
        walk.doubt("startup-file", f"a shell reads {program.startup} before it starts")
    if program.source == "input":
        return run_input(walk, interpreter, inside, given)
    if program.word is None:
        return unchanged(scope)
    if program.source == "text":
        return walk.code(program.word, interpreter, inside, given)
    return run_script(walk, program.word, interpreter, inside, given)


def run_input(walk: Interpreter, interpreter: str, scope: Scope, given: Input) -> Effect:
    """Follow a shell that reads its program from standard input."""
    if given.text is not None:
        return walk.code(given.text, interpreter, scope, Input(piped=True))
    if given.file is not None:
        if not given.file.unknown:  # judged as the same file named as an argument
            walk.add_run((literal_word("sh"), given.file), "sh", scope)
        return run_script(walk, given.file, interpreter, scope, Input(piped=True))
    walk.doubt("program-from-input", "a shell runs its input, which is not known")
    return unchanged(scope)


def run_script(
    walk: Interpreter, path: Word, interpreter: str, scope: Scope, given: Input
) -> Effect:
    """Follow a script; one that was on the host before is taken as the operator's."""
    piece = path.pieces[0] if len(path.pieces) == 1 else None
    if isinstance(piece, Hole) and piece.content is not None:
        return walk.code(piece.content, interpreter, scope, given)
    if path.unknown or path.prefix.startswith(_NO_FILES):
        walk.doubt("unknown-script", f"which script runs is not known: {path}")
        return unchanged(scope)
    outcome = unchanged(scope)
    walk.files.ran(path, scope.directories[0])
    for file in walk.files.at(path, scope.directories[0]):
        if file.copy_of is not None:
            outcome = run_script(walk, file.copy_of, interpreter, scope, given)
        else:
            outcome = _run_content(walk, file, interpreter, scope, given)
    return outcome


def run_file(
    walk: Interpreter, path: Word, words: tuple[Word, ...], scope: Scope, given: Input
) -> None:
    """Follow a program that is a file which the text itself has written, if it is one."""
    here = scope.directories[0]
    if "/" in path.prefix:
        walk.files.ran(path, here)
    for file in walk.files.run_as(path, here):
        if file.copy_of is not None:
            walk.execute((file.copy_of, *words), scope, given, functions=False)
        else:
            inside = replace(scope.child(), arguments=words)
            _run_content(walk, file, "sh", inside, given)


def _run_content(
    walk: Interpreter, file: File, interpreter: str, scope: Scope, given: Input
) -> Effect:
    if file.content.literal is None:
        walk.doubt(
            "written-script", "it runs a file that it has written, whose content is not known"
        )
    return walk.code(file.content, interpreter, scope, given)
