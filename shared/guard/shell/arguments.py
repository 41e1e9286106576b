"""Follows commands and programs inside the arguments or the input of others."""

import re
from dataclasses import replace

from shared.guard.paths import NOWHERE
from shared.guard.programs.find import deletions, search
from shared.guard.programs.inline_code import (
    INTERPRETERS,
    Embedded,
    codes,
    language,
    option_values,
)
from shared.guard.programs.interpreters import script_program
from shared.guard.programs.sql import (
    CLIENTS,
    DIALECTS,
    MOST_CHARACTERS,
    PROGRAM,
    SqlDialect,
    UnreadableSql,
    likely_statements,
    statements,
)
from shared.guard.programs.sql_looks import sql_only_looks
from shared.guard.shell.interpreter import Interpreter
from shared.guard.shell.scope import Scope
from shared.guard.shell.scripts import run_input
from shared.guard.shell.streams import Input
from shared.guard.words import Word, literal_word

_READS_SHELL = frozenset({"at", "batch"})
_READS_ITS_OWN = frozenset(
    {"ed", "ex", "vi", "vim", "gdb", "mongosh", "mongo", "redis-cli", "make", "bc", "m4", "tclsh"}
)

_LISTS_JOBS = re.compile(r"-l|-l -u ?[a-z_][\w-]*|-u ?[a-z_][\w-]* -l|-lu ?[a-z_][\w-]*")


def follow_arguments(
    walk: Interpreter, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> None:
    """Follow everything in the arguments and the input of a program that it would run."""
    for code in codes(program, words):
        if isinstance(code, Embedded):
            walk.code(code.text, "sh", scope.child(), given)
        else:
            walk.doubt("other-language", code.why)
    _input(walk, program, words, scope, given)
    if program in CLIENTS:
        _sql(walk, program, words, scope, given)
    if program == "find":
        _find(walk, words, scope, given)
    if places := deletions(program, words):
        # deleting everything below a place means deleting the place
        walk.add_run(
            (literal_word("rm"), literal_word("-r"), literal_word("-f"), *places), "rm", scope
        )


def _input(
    walk: Interpreter, program: str, words: tuple[Word, ...], scope: Scope, given: Input
) -> None:
    dash = any(word.literal == "-" for word in words)
    if given.given and (program in _READS_SHELL or (program == "parallel" and not words)):
        run_input(walk, "sh", scope.child(), given)
    elif language(program) in INTERPRETERS:
        if script_program(words).source == "input" and (given.given or dash):
            walk.doubt("other-language", f"{program} runs a program that it reads")
    elif program in _READS_ITS_OWN and given.given:
        walk.doubt("other-language", f"{program} is given commands of its own")
    elif (
        program == "crontab"
        and not _lists_jobs(words)
        and (dash or given.given or not all(word.prefix.startswith("-") for word in words))
    ):
        walk.doubt("other-language", "it installs scheduled commands")


def _lists_jobs(words: tuple[Word, ...]) -> bool:
    """Whether `crontab` shows a table, its own or that of another account."""
    texts = [word.literal or ("?" if word.splits else "x") for word in words]
    return _LISTS_JOBS.fullmatch(" ".join(texts)) is not None


def _sql(
    walk: Interpreter, program: str, words: tuple[Word, ...], scope: Scope, given: Input
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
        for statement in _statements(walk, program, str(text)):
            walk.add_run((literal_word(PROGRAM), *map(literal_word, statement)), PROGRAM, scope)


def _statements(walk: Interpreter, program: str, text: str) -> list[tuple[str, ...]]:
    dialect = DIALECTS.get(program, SqlDialect.POSTGRES)
    try:
        return statements(text, dialect)
    except UnreadableSql as error:
        if not sql_only_looks(text, dialect):
            told = f"the SQL that {program} runs may be read in more than one way: {error}"
            walk.doubt("other-language", told)
        return likely_statements(text)


def _find(walk: Interpreter, words: tuple[Word, ...], scope: Scope, given: Input) -> None:
    inside = replace(scope, directories=(*scope.directories, NOWHERE))
    for run in search(words).runs:
        if run:
            walk.execute(run, inside, given, functions=False)
