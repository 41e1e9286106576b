"""The peers' programs: there, compiling, with everything pinned, and told the work."""

import json
import re
import sys
import sysconfig
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks.peers import environments
from benchmarks.peers.catalogue import PEER_NAMES, PEERS
from benchmarks.peers.environments import Environment, NotInstalledError, last_words
from benchmarks.peers.outside import DidNotAnswerError, run
from benchmarks.peers.programs import brief

PROGRAMS = Path(brief.__file__).parent
BRIEF = brief.Brief(
    plans=20,
    commands=10,
    form="linear raw",
    servers=(brief.Server("h", 1, "u", "k", "n"), brief.Server("h", 2, "u", "k", "n")),
    database="postgresql://",
    broker="redis://",
    scratch="/s",
)


@pytest.mark.parametrize("path", sorted(PROGRAMS.rglob("*.py")), ids=lambda path: path.stem)
def test_a_program_compiles(path: Path) -> None:
    """Also those whose peer is not here."""
    compile(path.read_text(encoding="utf-8"), str(path), "exec", dont_inherit=True)


@pytest.mark.parametrize("name", [*PEER_NAMES, "plot"])
def test_a_peer_has_its_program_and_all_its_versions(name: str) -> None:
    """So a stranger measures what we measured."""
    assert name == "plot" or (PROGRAMS / f"with_{name}.py").exists()
    lines = Environment(name).requirements.read_text(encoding="utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    assert wanted
    assert [line for line in wanted if not re.fullmatch(r"[\w.\[\]-]+==[\w.]+", line)] == []
    assert Environment(name).versions == ", ".join(
        line.replace("==", " ") for line in lines[: lines.index("")]
    )


def test_every_contestant_has_a_name_of_its_own_at_a_workload() -> None:
    """Two of one name would share their figures."""
    names = [(each.name, workload.key) for each in PEERS for workload in each.workloads]
    assert len(names) == len(set(names))


def test_a_brief_comes_back_as_it_was() -> None:
    """Through JSON."""
    again = brief.parse(json.dumps(asdict(BRIEF)))
    assert again == BRIEF
    assert again.count == 200
    assert [again.server_of(plan).port for plan in range(3)] == [1, 2, 1]


def test_an_answer_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """In milliseconds."""
    brief.answer(2, 0.5, [0.25, 0.0012345])
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    assert json.loads(said) == {"count": 2, "seconds": 0.5, "latencies_ms": [250.0, 1.234]}


def test_a_program_without_its_peer_fails_with_a_reason(tmp_path: Path) -> None:
    """DBOS is not in our environment."""
    with pytest.raises(DidNotAnswerError, match="No module named 'dbos'"):
        run(Path(sys.executable), "dbos", tmp_path)


def test_a_program_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    """No peer holds up the others."""
    with pytest.raises(DidNotAnswerError, match="longer than 0 s"):
        run(Path(sys.executable), "dbos", tmp_path, patience=0.001)


def test_a_peer_that_is_not_there_at_all(tmp_path: Path) -> None:
    """The reason names no path."""
    with pytest.raises(DidNotAnswerError, match="it cannot be started: No such file"):
        run(tmp_path / "python", "dbos", tmp_path)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("", "no reason given"),
        ("a\nlast\n\n", "last"),
        ("ERROR: none found\nnote: see below\n", "ERROR: none found"),
        ("OSError: /home/me/x y is gone", "OSError: … y is gone"),
        ("error from https://index.example/simple/a/ again", "error from … again"),
        ("error in ['/a/b', 'c']", "error in ['…', 'c']"),
        ("1/2 errors", "1/2 errors"),
    ],
)
def test_last_words_name_no_place(said: str, kept: str) -> None:
    """They go into a page that others read."""
    assert last_words(said) == kept


def _with_the_pip_that_is_here(run_: Callable[..., None]) -> Callable[..., None]:
    """Unpacking a pip into an environment takes seconds: it finds that of this environment."""

    def run_without(*command: str) -> None:
        if "venv" not in command:
            run_(*command)
            return
        run_(*command, "--without-pip")
        (packages,) = Path(command[-1]).glob("lib/python*/site-packages")
        (packages / "here.pth").write_text(sysconfig.get_path("purelib"))

    return run_without


def test_an_environment_is_made_again_when_its_pins_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one that cannot be made is not taken for ready; nothing is fetched for `x`."""
    monkeypatch.setattr(environments, "_run", _with_the_pip_that_is_here(environments._run))
    monkeypatch.setattr(environments, "PLACE", tmp_path / "made")
    monkeypatch.setattr(environments, "REQUIREMENTS", tmp_path)
    (tmp_path / "x.txt").write_text("")
    environment = Environment("x")
    assert not environment.is_ready
    environment.install()
    assert environment.is_ready
    (tmp_path / "x.txt").write_text("./not-there\n")
    assert not environment.is_ready
    with pytest.raises(NotInstalledError, match="cannot be installed here: ERROR"):
        environment.install()
    assert not environment.is_ready
