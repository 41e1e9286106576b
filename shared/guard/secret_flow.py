"""Where a secret's value may go: into programs that consume it, and nowhere else (X19).

`${secret:NAME}` reaches the guard as `"${REPLAN_SECRET_NAME}"`, a variable that the command's
environment carries. What it holds is never looked at. A *consumer* is a program of which a rule of
the policy says (`consumes`) that it may be given a secret, and in what way: on its standard input,
or in a variable. Whatever else receives a value asks; what would leave it in an argument or in a
file is denied.
"""

from collections.abc import Callable, Iterable, Iterator

from shared.domain.secret import VARIABLE
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.findings import Findings
from shared.guard.programs.inline_code import SHELL_NAMES
from shared.guard.programs.interpreters import shell_program
from shared.guard.programs.wrappers import inner_commands
from shared.guard.secret_words import NO_FILES, PRINTS, derived_secret, secret_in
from shared.guard.words import Run

INPUT = "input"
"""The way into a consumer that is its standard input; every other way is the name of a variable."""

Consumes = Callable[[Run, str], bool]
"""Whether a rule says that a run consumes a secret, in that way."""

_OF_THE_SHELL = PRINTS | {"test", "[", "export", "readonly", "local", "set", "read", "eval", ":"}
_NEVER_READ = PRINTS | {
    *("true", "false", ":", "cd", "pwd", "export", "readonly", "local", "unset", "sleep", "exit"),
    *("return", "break", "continue", "shift", "trap", "wait", "umask", "ulimit", "test", "["),
}  # fmt: skip
_NEVER_SHOW = _NEVER_READ | {"read", "getopts", "[["}
_PASS_INPUT = frozenset({
    *("sudo", "doas", "env", "nohup", "timeout", "nice", "ionice", "stdbuf", "setsid", "time"),
    *("command", "exec", "builtin", "docker", "podman", "kubectl", "docker-compose"),
})  # fmt: skip
_PASS_VARIABLES = _PASS_INPUT - {"docker", "podman", "kubectl", "docker-compose"}
_COPY_INPUT = frozenset({"split", "csplit"})
_SHOW_VARIABLES = frozenset({"set", "env", "printenv", "declare", "typeset", "compgen", "export"})


def breaches(findings: Findings, consumes: Consumes) -> Iterator[Verdict]:
    """A verdict for each place at which a secret would be seen by others, or may be."""
    runs = findings.runs
    feeding = {feeder for run in runs for feeder in run.feeders}
    for run in runs:
        name = secret_in(run.argv)
        if name:
            yield from _in_words(run, name, feeding)
        elif name := derived_secret(run.argv):
            told = f"it may show the secret {_spell(name)} in its arguments"
            yield Verdict(VerdictKind.APPROVE, "secret-derived", told, run.part)
        yield from _of_input(run, feeding, consumes)
        yield from _of_variables(run, consumes)
        if findings.names_secret and _shows_variables(run):
            told = f"{run.program} may show the variables that hold secrets"
            yield Verdict(VerdictKind.APPROVE, "secret-printed", told, run.part)


def code_breaches(findings: Findings, code: Iterable[Run], consumes: Consumes) -> Iterator[Verdict]:
    """A verdict for each run of a project's code beside a secret: it inherits the variable."""
    for run in code:
        if findings.names_secret and not any(consumes(run, name) for name, _ in run.handed):
            told = (
                f"{run.argv[0]} inherits every secret that the command names: run it in a subtask "
                "of its own, or let a rule say what it consumes"
            )
            yield Verdict(VerdictKind.APPROVE, "secret-handed", told, run.part)


def in_file(name: str, part: str) -> Verdict:
    """The verdict on a secret that would be written to a file."""
    told = (
        f"it would leave the secret {_spell(name)} in a file on the host: "
        f"hand it over on standard input, `printf '%s' \"{_spell(name)}\" | program`"
    )
    return Verdict(VerdictKind.DENY, "secret-in-file", told, part)


def _in_words(run: Run, name: str, feeding: set[Run]) -> Iterator[Verdict]:
    shown = _spell(name)
    if run.program not in _OF_THE_SHELL or "/" in str(run.argv[0]):
        told = (
            f"every user of the host can see the secret {shown} in the arguments of {run.program}: "
            f"write `NAME={shown} {run.program} …` or `printf '%s' \"{shown}\" | {run.program} …`"
        )
        yield Verdict(VerdictKind.DENY, "secret-in-arguments", told, run.part)
    elif run.program not in PRINTS:
        told = f"{run.program} is given the secret {shown}"
        yield Verdict(VerdictKind.APPROVE, "secret-elsewhere", told, run.part)
    elif run not in feeding:
        told = f"it prints the secret {shown}"
        yield Verdict(VerdictKind.APPROVE, "secret-printed", told, run.part)


def _of_input(run: Run, feeding: set[Run], consumes: Consumes) -> Iterator[Verdict]:
    if not run.fed or not run.argv:
        return
    files = [path for path in run.writes if str(path) not in NO_FILES]
    if files or run.program in _COPY_INPUT:
        yield in_file(run.fed, run.part)
    elif _only_passes_on(run, feeding) or consumes(run, INPUT):
        return
    else:
        told = (
            f"{run.program} reads the secret {_spell(run.fed)}, and no rule says that it consumes "
            "one there (`consumes: [input]`)"
        )
        yield Verdict(VerdictKind.APPROVE, "secret-fed", told, run.part)


def _only_passes_on(run: Run, feeding: set[Run]) -> bool:
    """Whether a run does not read its input itself, or puts it out for a run that is judged."""
    if run.program in _NEVER_READ:
        return True
    if run.program == "cat" and len(run.argv) == 1:
        return run in feeding
    return _is_wrapper(run, _PASS_INPUT)


def _of_variables(run: Run, consumes: Consumes) -> Iterator[Verdict]:
    for name, secret in run.handed:
        if run.program in _NEVER_SHOW or _is_wrapper(run, _PASS_VARIABLES):
            continue
        if not consumes(run, name):
            told = (
                f"{run.program} is handed the secret {_spell(secret)} in {name}, and no rule says "
                f"that it consumes one there (`consumes: [{name}]`)"
            )
            yield Verdict(VerdictKind.APPROVE, "secret-handed", told, run.part)


def _is_wrapper(run: Run, among: frozenset[str]) -> bool:
    """Whether a run only starts another one, which is judged by itself."""
    words = run.argv[1:]
    if run.program in SHELL_NAMES:
        return shell_program(words).source == "text"
    return run.program in among and any(
        inner.words for _, inner in inner_commands(run.program, words)
    )


def _shows_variables(run: Run) -> bool:
    words = run.argv[1:]
    if run.program == "env":
        return not any(inner.words for _, inner in inner_commands("env", words))
    if run.program == "set":
        flags = [str(word) for word in words]
        return not words or any("a" in each or "x" in each for each in flags if each[:1] == "-")
    if run.program in ("export", "readonly"):
        return not words or any(word.prefix.startswith("-p") for word in words)
    return run.program in _SHOW_VARIABLES


def _spell(variable: str) -> str:
    return f"${{secret:{variable.removeprefix(VARIABLE)}}}"
