"""One command with its words known: what runs, directly and inside its arguments."""

from dataclasses import replace

from shared.guard.builtins import BUILTINS
from shared.guard.codes import (
    INTERPRETERS,
    SHELL_NAMES,
    Embedded,
    codes,
    language,
    option_values,
)
from shared.guard.files import File, copies, downloads, written
from shared.guard.find import deleted, search
from shared.guard.flow import Input, Outcome, sources, unchanged
from shared.guard.follower import Follower
from shared.guard.outputs import output
from shared.guard.paths import NOWHERE, START
from shared.guard.scope import Scope
from shared.guard.shells import Program, script_program, shell_program
from shared.guard.sql import CLIENTS, MOST_CHARACTERS, PROGRAM, statements
from shared.guard.scripts import program_from_input, script_file, script_text
from shared.guard.variables import assign
from shared.guard.words import Hole, Run, Text, Word, joined, known, unknown
from shared.guard.wrappers import WRAPPERS, Inner, Wrapper, inner_commands

MOST_WORDS = 2000
"""A command with more is not judged without a person."""

_IN_THIS_SHELL = frozenset({"command", "builtin", "exec"})
_ELSEWHERE = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc", "crictl", "lxc"})
_READS_COMMANDS = frozenset({"at", "batch"})
_READS_PROGRAMS = frozenset({"ed", "ex", "vi", "vim", "gdb", "mongosh", "mongo", "redis-cli"})
_DIRECTORY_OPTIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "env": ("C", ("chdir",)),
    "sudo": ("D", ("chdir",)),
    "systemd-run": ("", ("working-directory",)),
}
_PLACEHOLDER = known(" ${__unknown}")


def execute(
    walk: Follower, words: tuple[Word, ...], scope: Scope, given: Input, *, functions: bool = True
) -> Outcome:
    """Run a command; `functions` is False where the shell's functions are not looked at."""
    name = words[0].literal
    if len(words) > MOST_WORDS:
        walk.doubt("too-large", f"a command of it has more than {MOST_WORDS} words")
        words = words[:MOST_WORDS]
    if name is None:
        walk.doubt("unknown-command", f"which program runs is not known: {words[0]}")
        return unchanged(scope)
    if name in walk.aliases:
        walk.doubt("alias", f"{name} is an alias")
    called = scope.functions.get(name) if functions else None
    if called:
        inside = replace(scope, arguments=words[1:])
        with walk.deeper():
            outcome = walk.call(name, called, inside, given)
        return Outcome(
            replace(outcome.succeeded, arguments=scope.arguments),
            replace(outcome.failed, arguments=scope.arguments),
            outcome.output,
        )
    with walk.deeper():
        return _program(walk, name, words, scope, given)


def _program(
    walk: Follower, name: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> Outcome:
    program = name.rpartition("/")[2] or name
    rest = words[1:]
    writes = written(program, rest)
    feeders = sources(_feeders(walk, program, rest, scope, given))
    run = Run(words, program, scope.directories, writes, feeders, walk.part)
    walk.found(run)
    _remember_files(walk, run, rest, given)
    if "/" in name:
        _own_script(walk, words[0], rest, scope, given)
    builtin = BUILTINS.get(program)
    if builtin is not None:
        return builtin(walk, rest, scope, given)
    if program in SHELL_NAMES:
        interpreter = "bash" if program in ("bash", "rbash") else "sh"
        return _shell(walk, interpreter, shell_program(rest), scope, given).within(scope)
    outcome = _wrapped(walk, program, rest, scope, given)
    _embedded(walk, program, rest, scope, given)
    if program == "find":
        _find(walk, rest, scope, given)
    if places := deleted(program, rest):
        argv = (known("rm"), known("-r"), known("-f"), *places)
        walk.found(Run(argv, "rm", scope.directories, part=walk.part))
    if outcome is not None:
        return outcome
    return unchanged(scope, output(program, rest, given.text, walk.dialect))


# what feeds a run


def _feeders(
    walk: Follower, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> tuple[Run, ...]:
    """The runs whose output is the program, or otherwise the input, of this one."""
    if program in SHELL_NAMES:
        source = shell_program(words)
    elif language(program) in INTERPRETERS:
        source = script_program(words)
    elif program in ("eval", ".", "source"):
        return _makers(walk, words, scope, given)
    else:
        return given.makers
    if source.word is None:
        return given.makers if source.source == "input" else ()
    return _makers(walk, (source.word,), scope, given)


def _makers(
    walk: Follower, words: tuple[Word, ...], scope: Scope, given: Input
) -> tuple[Run, ...]:
    makers = [maker for word in words for maker in word.makers]
    for word in words:
        if word.literal in ("/dev/stdin", "/dev/fd/0"):
            makers += given.makers
        for file in walk.files.at(word, scope.directories[0]):
            makers += file.content.makers
    return tuple(makers)


# files


def _remember_files(walk: Follower, run: Run, words: tuple[Word, ...], given: Input) -> None:
    """What the run writes may be run later."""
    here = run.directories[0]
    content = given.word if run.program == "tee" else unknown(makers=sources((run,)))
    append = run.program == "tee" and any(word.literal in ("-a", "--append") for word in words)
    for path in (*run.writes, *downloads(run.program, words)):
        walk.files.write(path, here, File(content), append=append)
    for source, path in copies(run.program, words):
        walk.files.write(path, here, File(unknown(), copy_of=source))


def _own_script(
    walk: Follower, path: Word, words: tuple[Word, ...], scope: Scope, given: Input
) -> None:
    """Run a file that the text itself has written, if it is one."""
    for file in walk.files.at(path, scope.directories[0]):
        if file.copy_of is not None:
            execute(walk, (file.copy_of, *words), scope, given, functions=False)
            continue
        walk.found(Run((known("sh"), path), "sh", scope.directories, (), file.content.makers, walk.part))
        script_text(walk, file, "sh", scope.child(), given)


# shells


def _shell(
    walk: Follower, interpreter: str, program: Program, scope: Scope, given: Input
) -> Outcome:
    inside = replace(scope.child(), arguments=program.arguments)
    if program.name is not None:
        inside = inside.assign("0", program.name)
    if program.startup is not None:
        walk.doubt("startup-file", f"a shell reads {program.startup} before it starts")
    if program.source == "input":
        return program_from_input(walk, interpreter, inside, given)
    if program.word is None:
        return unchanged(scope)
    if program.source == "text":
        return walk.code(program.word, interpreter, inside, given)
    return script_file(walk, program.word, interpreter, inside, given)


# wrappers


def _wrapped(
    walk: Follower, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> Outcome | None:
    """Follow what a wrapper runs; None when the program is not one, or runs nothing."""
    outcome = None
    inners = inner_commands(program, words)
    for wrapper, inner in inners:
        inside = _inside(walk, program, inner, scope)
        if wrapper.joins:
            text = joined(inner.words)
            if wrapper.extra:
                text = joined((text, _PLACEHOLDER), "")
            followed = walk.code(text, "sh", inside.child(), given)
        else:
            handed = inner.words
            if wrapper.extra:
                handed = _with_extra(inner, given)
            followed = execute(walk, handed, inside, given, functions=False)
        outcome = outcome or followed
    if outcome is None:
        return _shell_of_wrapper(walk, program, words, scope, given)
    return outcome if program in _IN_THIS_SHELL else outcome.within(scope)


def _inside(walk: Follower, program: str, inner: Inner, scope: Scope) -> Scope:
    if program in _ELSEWHERE or WRAPPERS[program][0].remote:
        scope = Scope(arguments=(), directories=(START,))
    for name, value in inner.assigned:
        scope = assign(walk, scope, name, value).export(name)
    options = _DIRECTORY_OPTIONS.get(program)
    if options:
        for path in option_values(inner.before, *options):
            scope = scope.go(path)
    return scope


def _with_extra(inner: Inner, given: Input) -> tuple[Word, ...]:
    """The words with what xargs adds to them, or puts in the place of its mark."""
    marks = {str(value) for value in option_values(inner.before, "I", ("replace",))}
    marked = bool(marks) or any(word.literal == "-i" for word in inner.before)
    marks = marks or {"{}"}
    words = [_marked(word, marks, given.makers) for word in inner.words]
    if not marked:
        words += _read_words(given)
    return tuple(words)


def _read_words(given: Input) -> list[Word]:
    """The words that xargs reads, where its input is known and holds no quotes."""
    text = None if given.text is None else given.text.literal
    if text is None or any(sign in text for sign in "\\'\""):
        return [unknown(split=True, makers=given.makers)]
    return [known(word) for word in text.split()]


def _marked(word: Word, marks: set[str], makers: tuple[Run, ...]) -> Word:
    text = word.literal
    for mark in marks:
        if text is not None and mark in text:
            before, _, after = text.partition(mark)
            pieces = (Text(before), Hole(makers=makers), Text(after))
            return Word(tuple(p for p in pieces if not isinstance(p, Text) or p.value))
    return word


def _shell_of_wrapper(
    walk: Follower, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> Outcome | None:
    """`su`, `sudo -s` and `ssh host` start a shell that reads its input when no command is given."""
    flags = "".join(word.prefix[1:] for word in words if word.prefix.startswith("-"))
    with_command = program == "su" and any(True for _ in option_values(words, "c", ("command",)))
    starts = program in ("su", "ssh") or (program == "sudo" and ("i" in flags or "s" in flags))
    if starts and given.given and not with_command:
        program_from_input(walk, "sh", Scope(arguments=()), given)
    return None


# programs inside arguments


def _embedded(
    walk: Follower, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> None:
    for code in codes(program, words):
        if isinstance(code, Embedded):
            walk.code(code.text, "sh", scope.child(), given)
        else:
            walk.doubt("other-language", code.why)
    if language(program) in INTERPRETERS and script_program(words).source == "input":
        if given.given or "-" in [word.literal for word in words]:
            walk.doubt("other-language", f"{program} runs a program that it reads")
    if program in _READS_COMMANDS and given.given:
        program_from_input(walk, "sh", scope.child(), given)
    if program in _READS_PROGRAMS and given.given:
        walk.doubt("other-language", f"{program} is given commands of its own")
    if program == "crontab" and any(not w.prefix.startswith("-") or w.literal == "-" for w in words):
        walk.doubt("other-language", "it installs scheduled commands")
    if program == "make" and given.given:
        walk.doubt("other-language", "make reads what it is to do")
    if program in CLIENTS:
        _sql(walk, program, words, scope, given)


def _sql(
    walk: Follower, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> None:
    texts = list(option_values(words, *CLIENTS[program]))
    if program == "sqlite3":
        texts += [word for word in words if not word.prefix.startswith("-")][1:]
    if not texts and given.given:
        texts.append(given.word)
    for text in texts:
        if text.literal is None:
            walk.doubt("other-language", f"the SQL that {program} runs is not known")
        if len(str(text)) > MOST_CHARACTERS:
            walk.doubt("too-large", f"the SQL that {program} runs is too long to be read")
            continue
        for statement in statements(str(text)):
            argv = (known(PROGRAM), *map(known, statement))
            walk.found(Run(argv, PROGRAM, scope.directories, part=walk.part))


def _find(walk: Follower, words: tuple[Word, ...], scope: Scope, given: Input) -> None:
    found = search(words)
    for run in found.runs:
        if run:
            inside = replace(scope, directories=(*scope.directories, NOWHERE))
            execute(walk, run, inside, given, functions=False)
