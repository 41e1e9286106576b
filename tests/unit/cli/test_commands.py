"""What every command has: a format, help with an example, and mistakes told in the wanted form."""

import json
import shlex
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer

from orchestrator.cli.main import GROUPS, build, main
from orchestrator.cli.schemas import DETAILS, schema_of
from tests.services.schemas import validate


def commands(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command below this one, under its words."""
    inner = getattr(command, "commands", None)
    if inner is None:
        yield path, command
        return
    for name, each in inner.items():
        yield from commands(each, (*path, name))


COMMANDS = dict(commands(typer.main.get_command(build())))
NEEDING = {path: c for path, c in COMMANDS.items() if any(p.required for p in c.params)}


def words(path: tuple[str, ...]) -> str:
    return " ".join(path)


def one_object(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """What was printed: one JSON object on one line, and nothing else."""
    printed = capsys.readouterr()
    (line,) = printed.out.splitlines()
    answer: dict[str, Any] = json.loads(line)
    validate(answer)
    return answer


def test_the_objects_and_verbs_that_this_ring_needs_are_there() -> None:
    needed = (
        "task submit,task list,task show,task watch,task cancel,task resume,task report,plan show,"
        "step show,step revise,attempt list,attempt show,attempt tail,attempt cancel,bundle show,"
        "intervention list,intervention show,intervention answer,host add,host list,host check,"
        "config show,guard check,worker start,coordinator start,db migrate,db status,up,demo"
    )
    assert set(needed.split(",")) <= {words(path) for path in COMMANDS}


def test_every_command_has_a_schema_under_its_own_name_and_every_schema_a_command() -> None:
    assert {".".join(path) for path in COMMANDS} == {
        kind for kind in DETAILS if kind not in {"replan", "task.message"} and ".line" not in kind
    }


@pytest.mark.parametrize("kind", sorted(DETAILS))
def test_every_schema_is_one(kind: str) -> None:
    jsonschema.Draft202012Validator.check_schema(schema_of(kind))


@pytest.mark.parametrize("path", COMMANDS, ids=words)
def test_help_has_an_example_and_the_format(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--help"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"Example: replan {words(path)}" in told
    assert "--format" in told
    assert COMMANDS[path].help


@pytest.mark.parametrize("path", COMMANDS, ids=words)
def test_an_example_is_a_call_that_its_command_takes(path: tuple[str, ...]) -> None:
    """What follows a redirection is the shell's."""
    example = shlex.split(COMMANDS[path].epilog.removeprefix("Example:"))
    typed = [*takewhile(lambda word: word not in {"<", ">"}, example)]
    assert typed[: len(path) + 1] == ["replan", *path]
    with COMMANDS[path].make_context(path[-1], typed[len(path) + 1 :]):
        pass


@pytest.mark.parametrize("path", [(), *((name,) for name in GROUPS)], ids=words)
def test_help_of_a_group_lists_its_commands(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--help"]) == 0
    told = capsys.readouterr().out
    for known in COMMANDS:
        if known[: len(path)] == path:
            assert f" {known[len(path)]} " in told


@pytest.mark.parametrize("path", COMMANDS, ids=words)
def test_an_unknown_option_is_refused_as_one_object(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--nonsense", "--format", "min-json"]) == 2
    answer = one_object(capsys)
    assert answer["kind"] == ".".join(path)
    assert answer["ok"] is False
    assert answer["stage"] == "input"
    assert "--nonsense" in answer["reason"]
    assert answer["next_step_cmd"] == f"replan {words(path)} --help"


def test_an_option_without_its_value_names_the_help_of_its_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["accept", "run", "D7", "--format=min-json", "--note"]) == 2
    answer = one_object(capsys)
    assert (answer["kind"], answer["next_step_cmd"]) == (
        "accept.run",
        "replan accept run --help",
    )


@pytest.mark.parametrize("path", NEEDING, ids=words)
def test_a_missing_argument_is_refused_as_one_object(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--format=min-json"]) == 2
    answer = one_object(capsys)
    assert answer["kind"] == ".".join(path)
    assert "Missing" in answer["reason"]


@pytest.mark.parametrize("path", COMMANDS, ids=words)
def test_a_format_that_there_is_not_is_refused(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*path, "--format", "xml"]) == 2
    told = capsys.readouterr()
    assert not told.out
    assert "'xml'" in told.err
    assert "min-json" in told.err
    assert "stage: input" in told.err


@pytest.mark.parametrize("given", [["nonsense"], ["task", "nonsense"], ["--nonsense"]])
def test_a_command_that_there_is_not_is_refused_as_one_object(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*given, "--format", "min-json"]) == 2
    answer = one_object(capsys)
    assert answer["kind"] == "replan"
    assert "nonsense" in answer["reason"]


@pytest.mark.parametrize("given", [[], ["task"], ["host"]])
def test_no_command_shows_the_help(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(given) == 2
    assert "Commands" in capsys.readouterr().out


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("replan 0.")


HEAVY = (
    *("alembic", "anthropic", "celery", "kombu", "obstore", "paramiko", "psycopg", "sqlalchemy"),
)


@pytest.mark.parametrize(
    ("given", "heavy"),
    [
        (["--help"], [*HEAVY, "pydantic", "orchestrator.cli.task_commands", "shared.domain.facts"]),
        (["--version"], [*HEAVY, "orchestrator.cli.task_commands"]),
        (["task", "submit", "--help"], [*HEAVY, "orchestrator.cli.host_commands"]),
        (["guard", "check", "ls"], list(HEAVY)),
    ],
    ids=lambda value: " ".join(value) if value[0] != "alembic" else "",
)
def test_what_needs_no_database_loads_no_heavy_library(given: list[str], heavy: list[str]) -> None:
    program = (
        f"import sys; from orchestrator.cli.main import main; code = main({given});"
        f"print(code, [name for name in {heavy} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stderr == "0 []\n"


def test_a_list_of_tasks_loads_what_reads_a_database_and_no_more(tmp_path: Path) -> None:
    """Neither the guard nor what moves the database, asks models or speaks with hosts."""
    more = (
        *("shared.guard", "workers", "orchestrator.coordinator", "shared.queue"),
        *("shared.store.tables", "sqlalchemy.orm", "shared.contracts", "yaml"),
    )
    program = (
        "import sys; from orchestrator.cli.main import main; main(['task', 'list']);"
        f"print([name for name in {(*HEAVY, *more)} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['psycopg', 'sqlalchemy']\n", done.stderr


def test_a_reader_that_has_had_enough_ends_it_quietly() -> None:
    """`replan schema show task.show | head -1`."""
    words = [sys.executable, "-m", "orchestrator.cli.main", "schema", "show", "task.show"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        _, complaints = process.communicate()
    assert b"Traceback" not in complaints
    assert b"Exception ignored" not in complaints
    assert b"BrokenPipe" not in complaints


@pytest.mark.parametrize("given", [["help"], ["help", "task"], ["help", "task", "submit"]])
def test_help_is_a_command_too(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """S2.78: the same as --help, and one object for programs."""
    assert main(given) == 0
    told = capsys.readouterr().out
    assert main([*given[1:], "--help"]) == 0
    assert capsys.readouterr().out == told
    assert main([*given, "--format", "min-json"]) == 0
    assert one_object(capsys)["details"]["command"] == " ".join(("replan", *given[1:]))


@pytest.mark.parametrize(
    ("given", "then"),
    [
        (["tsak"], "replan help"),
        (["task", "sumbit"], "replan help task"),
        (["task", "submit", "now"], "replan help 'task submit'"),
    ],
)
def test_help_of_a_command_that_there_is_not_is_refused(
    given: list[str], then: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["help", *given, "--format", "min-json"]) == 2
    answer = one_object(capsys)
    assert answer["kind"] == "help"
    assert answer["next_step_cmd"] == then
