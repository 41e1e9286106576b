"""What `replan up` and `replan demo` print works in another terminal, in any folder."""

import shlex
from pathlib import Path

import pytest

from orchestrator.cli.example_plans import example_plan
from orchestrator.cli.stack_commands import finding, program
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep
from shared.settings import ConnectionFile, Settings, load_settings


def settings(home: Path, **environ: str) -> Settings:
    """Those of a terminal with this home."""
    return load_settings({"HOME": str(home), **environ})


def elsewhere(home: Path, line: str) -> Settings:
    """The settings of a command that begins so, typed in another terminal."""
    variables = dict(word.split("=", 1) for word in shlex.split(line))
    return settings(home, **variables)


@pytest.mark.parametrize("name", ["", "data", "my data", "it's", "$HOME"])
@pytest.mark.parametrize("own", [{}, {"REPLAN_DATA_DIR": "set"}, {"XDG_DATA_HOME": "/tmp"}])
def test_another_terminal_finds_what_runs(
    name: str, own: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever its data lies, and whatever is set only where it was started."""
    monkeypatch.chdir(tmp_path)
    here = settings(tmp_path, **own)
    folder = Path(name) if name else tmp_path / "usual"
    ConnectionFile("postgresql://h/d", "redis://h", 1).write(folder)
    found = elsewhere(tmp_path, finding(here, folder))
    monkeypatch.chdir("/")
    assert found.server.data_dir == folder.absolute() or found.server.data_dir == tmp_path / folder


def test_nothing_stands_before_a_command_that_finds_it_by_itself(tmp_path: Path) -> None:
    """In the usual folder it is the plain command."""
    here = settings(tmp_path)
    assert finding(here, here.server.data_dir) == ""


def test_the_program_and_the_plan_are_named_for_every_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Not by a way that begins here."""
    monkeypatch.setattr("shutil.which", lambda _name: None)
    monkeypatch.setattr("sys.argv", [".venv/bin/replan"])
    assert Path(program()).is_absolute()
    assert Path(example_plan("hello.yaml", anywhere=True)).is_file()
    assert Path(example_plan("hello.yaml", anywhere=True)).is_absolute()


def test_a_command_that_finds_nothing_says_what_would_find_it(tmp_path: Path) -> None:
    """It names the folder in which it looked."""
    with pytest.raises(Misconfigured, match="replan is not running") as raised:
        settings(tmp_path).server.database_url  # noqa: B018
    assert str(settings(tmp_path).server.data_dir) in raised.value.reason
    assert "REPLAN_DATA_DIR" in raised.value.reason
    assert raised.value.next_step == NextStep.of("up")
