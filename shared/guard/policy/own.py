"""What belongs to replan: no plan runs it, reads or changes its data, or sets its variables (X17).

A plan that could would approve itself. No policy allows it, and no person is asked.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from shared.domain.secret import VARIABLE
from shared.domain.verdict import Verdict, VerdictKind
from shared.guard.paths import canonical
from shared.guard.programs.inline_code import INTERPRETERS, language, option_values
from shared.guard.programs.interpreters import script_program
from shared.guard.words import HOME, Run, Word, literal_word

RULE = "replan-itself"
_NAME = "replan"
_MODULE = re.compile(r"(?:replan|deploy\.launcher\.replan|orchestrator\.cli)(?:\..*)?")
_LAUNCHERS = frozenset(
    {"pipx", "uvx", "uv", "rye", "hatch", "pdm", "conda", "mamba", "pixi", "nix"}
)
_DATA = re.compile(
    r"(?:.*/)?\.replan(?:/.*)?"
    r"|(?:.*/)?(?:share|state|lib|etc|run|opt|cache|\.config|\.cache)/replan(?:/.*)?"
    r"|/run/user/[^/]*/replan.*"
    r"|(?:.*/)?approval-key|(?:.*/)?replan\.toml",
    re.DOTALL,
)
_PROGRAM = re.compile(r"(?:.*/)?bin/replan")
_SEPARATORS = re.compile(r"[=:,@]")
_ATTACHED = re.compile(r"-[A-Za-z]+(?=[./~])")
_VARIABLE = re.compile(r"(?:--?[\w-]*=?)?REPLAN_\w*")
_ENGINES = frozenset(
    {"docker", "docker-compose", "podman", "podman-compose", "nerdctl", "kubectl", "crictl"}
)
_CONTAINER = re.compile(r"(?:-p|name=)?replan(?:[-_][\w.-]*)?")
_CLIENTS = frozenset(
    {"psql", "pg_dump", "pg_restore", "mysql", "mariadb", "mysqldump", "createdb", "dropdb"}
    | {"vacuumdb", "reindexdb", "createuser", "dropuser", "pgbench", "pg_dumpall", "clusterdb"}
)
_DATABASE = re.compile(
    r"(?:-[dUDu]|--(?:dbname|username|database|user|role)=)?"
    r"(?:replan|(?:\S* )?(?:dbname|user)=replan(?: .*)?"
    r"|postgres(?:ql)?://(?:replan\b.*|[^ ]*/replan\b.*))"
)
_SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh", "busybox", _NAME})
_ONLY_PRINT = frozenset({"echo", "printf"})
_ONLY_ASK = frozenset({"test", "[", "ls", "stat", "which", "type", "command", "file", "readlink"})
_SETTERS = frozenset(
    {"export", "declare", "typeset", "local", "readonly", "read", "unset", "printf"}
)
_MENTIONS = re.compile(r"replan|approval-key")
_MOST_CHARACTERS = 4096


def own_verdicts(
    runs: Iterable[Run], policy_file: frozenset[str] = frozenset()
) -> Iterator[Verdict]:
    """A denial for each run of replan, and for each that names its data or sets its variables.

    `policy_file` are the names of the file from which its own policy comes.
    """
    for run in runs:
        if why := _objection(run) or _of_policy(run, policy_file):
            yield Verdict(VerdictKind.DENY, RULE, why, run.part)


def file_of(source: str) -> frozenset[str]:
    """The names of a policy's file, also from the home of this account; none if it is no file."""
    if not source.endswith((".yaml", ".yml")):
        return frozenset()
    path = Path(source).absolute()
    names = {str(path)}
    if path.is_relative_to(Path.home()):
        names.add(f"~/{path.relative_to(Path.home())}")
    return frozenset(names)


def _of_policy(run: Run, names: frozenset[str]) -> str | None:
    if not names or run.program in _ONLY_PRINT | _ONLY_ASK:
        return None
    last = {name.rpartition("/")[2] for name in names}
    for word in (*run.writes, *run.argv[1:]):
        if str(word).rpartition("/")[2] in last:
            for here in run.directories:
                place = _path(word, here)
                if place in names or (place.startswith("./") and place[2:] in last):
                    return f"no command touches what belongs to replan: {word} holds its policy"
    return None


def _objection(run: Run) -> str | None:
    if run.argv and _starts_replan(run):
        return "no command runs replan itself: a person does"
    for name in (*run.sets, *_variables_named(run)):
        if name.startswith("REPLAN_") and not name.startswith(VARIABLE):
            return f"no command sets {name}, a setting of replan"
    if _serves_replan(run):
        return "no command touches the containers or the database of replan"
    near = any(_MENTIONS.search(str(directory)) for directory in run.directories)
    for word in (*run.writes, *run.reads, *_operands(run)):
        shown = str(word)
        if (near or _MENTIONS.search(shown)) and (place := _own_place(word, shown, run)):
            return f"no command touches what belongs to replan: {place}"
    return None


def _starts_replan(run: Run) -> bool:
    words = run.argv[1:]
    if run.program == _NAME:
        return True
    if run.program in _LAUNCHERS:
        return any(word.literal == _NAME for word in words)
    if language(run.program) not in INTERPRETERS:
        return False
    modules = (word.literal or "" for word in option_values(words, "m", ()))
    if any(map(_MODULE.fullmatch, modules)):
        return True
    script = script_program(words).word
    return script is not None and _NAME in str(script).split("/")


def _serves_replan(run: Run) -> bool:
    """Whether a run names a container of replan to an engine, or its database to a client."""
    engine, client = run.program in _ENGINES, run.program in _CLIENTS
    pattern = _CONTAINER if engine else _DATABASE
    return (engine or client) and any(
        pattern.fullmatch(word.literal or "") for word in run.argv[1:]
    )


def _variables_named(run: Run) -> Iterator[str]:
    """The variables of replan that the words of a run set or hand on."""
    for word in run.argv[1:] if run.program not in _ONLY_PRINT else ():
        found = _VARIABLE.match(word.prefix)
        if found and (run.program in _SETTERS or "=" in word.prefix[found.end() :][:1]):
            yield found[0][found[0].index("REPLAN_") :]


def _operands(run: Run) -> tuple[Word, ...]:
    """The words that may name a file: of a program, only where it can be told to run anything.

    Coding agents may be installed beside replan, and are judged as any other program.
    """
    if run.program in _ONLY_PRINT:
        return ()
    steers = language(run.program) in INTERPRETERS or run.program in _SHELLS
    return run.argv if steers else run.argv[1:]


def _own_place(word: Word, shown: str, run: Run) -> str | None:
    if len(shown) > _MOST_CHARACTERS or any(sign in shown for sign in " \t\n"):
        return None
    asked = run.program in _ONLY_ASK
    for directory in run.directories:
        places = {_path(word, directory)}
        text = word.literal
        if text is not None:
            for part in _SEPARATORS.split(_ATTACHED.sub("", text)):
                places.add(_path(literal_word(part), directory))
        else:
            places.add(shown)
        for place in places:
            if _DATA.fullmatch(place) or (_PROGRAM.fullmatch(place) and not asked):
                return place
    return None


def _path(word: Word, directory: Word) -> str:
    return canonical(word, directory).with_placeholder("…").replace(HOME, "~")
