"""The plans that come with replan are named so that they are found from where one types."""

import shlex
from pathlib import Path

import pytest

from orchestrator.cli.example_plans import example_plan
from orchestrator.process_command import HOME


def test_in_the_checkout_as_a_reader_writes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HOME)
    assert example_plan("hello.yaml") == "examples/hello.yaml"


def test_anywhere_else_by_its_whole_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    (word,) = shlex.split(example_plan("hello.yaml"))
    assert Path(word).is_absolute()
    assert Path(word).is_file()
