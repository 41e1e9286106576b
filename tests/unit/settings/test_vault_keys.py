"""Settings of vaults, and variables that hold secrets."""

from pathlib import Path

import pytest

from shared.settings import load_settings


def test_the_name_of_a_secret_may_resemble_a_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    load_settings({"HOME": str(tmp_path), "REPLAN_SECRET_LEASE": "some value"})


def test_vaults_are_read_as_they_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "replan.toml").write_text(
        '[server]\nvaults = ["command", "files"]\nvault_dir = "~/held"\n'
        'vault_command = ["pass", "show", "replan/NAME"]\nvault_timeout = 3\n'
    )
    server = load_settings({"HOME": str(tmp_path)}).server
    assert server.vaults == ("command", "files")
    assert server.vault_dir == tmp_path / "held"
    assert server.vault_command == ("pass", "show", "replan/NAME")
    assert server.vault_timeout == 3
