"""The connection file of a running `replan up`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.settings import ConnectionFile, RunningElsewhere, load_settings, usual_data_dir

DATABASE = 'postgresql://replan:p%40"\\ss@127.0.0.1:5/replan'
BROKER = "redis://:hunter2@127.0.0.1:6/0"


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(folder: Path, pid: int | None = None) -> Path:
    """The file as `replan up` leaves it."""
    return ConnectionFile(DATABASE, BROKER, os.getpid() if pid is None else pid).write(folder)


def ended_pid() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_what_is_written_is_read_again_and_is_for_this_user_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "data")
    assert path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    found = ConnectionFile.read(tmp_path / "data")
    assert found == ConnectionFile(DATABASE, BROKER, os.getpid())
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["connection.toml"]


def test_it_is_private_also_when_it_was_not_before(tmp_path: Path) -> None:
    (tmp_path / "connection.toml").touch(mode=0o644)
    assert written(tmp_path).stat().st_mode & 0o777 == 0o600


def test_the_file_of_one_that_has_ended_counts_as_none(tmp_path: Path) -> None:
    written(tmp_path, ended_pid())
    assert ConnectionFile.read(tmp_path) is None


def test_no_file_is_none_and_taking_it_away_twice_is_nothing(tmp_path: Path) -> None:
    assert ConnectionFile.read(tmp_path / "nowhere") is None
    written(tmp_path)
    ConnectionFile.remove(tmp_path)
    ConnectionFile.remove(tmp_path)
    assert ConnectionFile.read(tmp_path) is None


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_or_write_is_not_trusted(mode: int, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.chmod(mode)
    with pytest.raises(Misconfigured) as caught:
        ConnectionFile.read(tmp_path)
    assert str(path) in caught.value.reason
    assert command_line(caught.value.next_step) == f"rm {path}"


@pytest.mark.parametrize("text", ["pid = ", "pid = 1", "database_url = 'x'\nbroker_url = 'y'\n"])
def test_a_broken_file_is_refused_with_what_to_do(text: str, tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(text)
    with pytest.raises(Misconfigured) as caught:
        ConnectionFile.read(tmp_path)
    assert command_line(caught.value.next_step) == f"rm {path}"


def test_the_settings_reach_the_one_that_runs_unless_something_says_otherwise(
    tmp_path: Path,
) -> None:
    written(tmp_path / "data")
    environ = {"HOME": str(tmp_path), "REPLAN_DATA_DIR": str(tmp_path / "data")}
    found = load_settings(environ)
    assert found.server.database_url == DATABASE
    assert found.server.broker_url == BROKER
    assert found.sources["database_url"] == "replan up"
    named = load_settings({**environ, "REPLAN_DATABASE_URL": "postgresql://elsewhere/db"})
    assert named.server.database_url == "postgresql://elsewhere/db"
    with pytest.raises(Misconfigured):
        _ = named.server.broker_url  # the bell of one and the database of another: never


def found_from(home: Path, **variables: str) -> tuple[Path, str | None, str]:
    """Where a command of that user looks, whom it reaches, and why there."""
    settings = load_settings({"HOME": str(home), **variables})
    server = settings.server
    return server.data_dir, server.database, settings.sources["data_dir"]


def test_one_that_runs_in_another_folder_is_found_while_it_is_the_only_one(tmp_path: Path) -> None:
    usual = usual_data_dir({"HOME": str(tmp_path)})
    one, two = tmp_path / "one ü", tmp_path / "two"
    assert found_from(tmp_path) == (usual, None, "default")
    RunningElsewhere(usual).note(one)
    assert found_from(tmp_path) == (usual, None, "default")
    written(one)
    assert found_from(tmp_path) == (one, DATABASE, "replan up")
    assert (usual / "elsewhere").stat().st_mode & 0o077 == 0
    assert found_from(tmp_path, REPLAN_DATA_DIR=str(two)) == (two, None, "REPLAN_DATA_DIR")
    assert found_from(tmp_path, REPLAN_DATABASE_URL="postgresql://x/y")[0] == usual
    alone = load_settings({"HOME": str(tmp_path)}, find_running=False)
    assert alone.server.data_dir == usual
    written(two)
    RunningElsewhere(usual).note(two)
    assert found_from(tmp_path) == (usual, None, "default")
    ConnectionFile.remove(one)
    assert found_from(tmp_path) == (two, DATABASE, "replan up")
    written(usual)
    assert found_from(tmp_path) == (usual, DATABASE, "default")


def test_folders_in_which_nothing_runs_are_forgotten(tmp_path: Path) -> None:
    elsewhere = RunningElsewhere(tmp_path / "usual")
    for name in ("one", "two"):
        elsewhere.note(tmp_path / name)
    elsewhere.note(tmp_path / "usual")
    assert len(list((tmp_path / "usual" / "elsewhere").iterdir())) == 1
    written(tmp_path / "two").chmod(0o644)
    assert elsewhere.only() is None
