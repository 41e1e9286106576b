"""Calling the command line in this process, and reading what it said."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from sqlalchemy import text

from orchestrator.cli.main import main
from shared.store.database import Database
from tests.services.schemas import validate


@dataclass(frozen=True, slots=True)
class Said:
    """What a call printed, and its exit code."""

    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Cli:
    """The command line on one database."""

    database: Database
    capsys: pytest.CaptureFixture[str]

    def __call__(self, *arguments: object) -> Said:
        """Call it; a traceback anywhere fails the test."""
        self.capsys.readouterr()
        code = main([str(each) for each in arguments])
        printed = self.capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err, printed
        return Said(code, printed.out, printed.err)

    def json(self, *arguments: object, code: int = 0) -> dict[str, Any]:
        """The one object that `min-json` printed, once its schema has accepted it."""
        said = self(*arguments, "--format", "min-json")
        assert said.code == code, said
        (line,) = said.out.splitlines()
        answer: dict[str, Any] = json.loads(line)
        validate(answer)
        assert answer["ok"] is (code == 0)
        if not answer["ok"]:
            assert answer["stage"]
            assert answer["reason"]
        return answer

    def whatever(self, *arguments: object) -> dict[str, Any]:
        """The last object that `min-json` printed, whether it could be done or not."""
        said = self(*arguments, "--format", "min-json")
        answer: dict[str, Any] = json.loads(said.out.splitlines()[-1])
        return answer

    def refused(self, *arguments: object, code: int = 2) -> dict[str, Any]:
        """What it answers to bad input: told alike to a person and to a program; nothing written.

        The answer always has a stage, a reason and the next command.
        """
        before = self.everything()
        answer = self.json(*arguments, code=code)
        assert answer["details"] is None
        assert answer["next_step_cmd"], answer
        said = self(*arguments)
        assert said.code == code
        assert not said.out
        assert answer["reason"] in said.err
        assert f"at stage: {answer['stage']}" in said.err
        assert f"next: {answer['next_step_cmd']}" in said.err
        assert self.everything() == before
        return answer

    def rows(self, query: str, **values: object) -> list[Any]:
        """The rows of a query."""
        with self.database.begin() as connection:
            return list(connection.execute(text(query), values).all())

    def everything(self) -> dict[str, int]:
        """How many rows each table has."""
        known = ("tasks", "runs", "run_steps", "revisions", "jobs", "inbox", "events", "hosts")
        more = ("tokens", "audit", "interventions", "approvals", "model_calls", "repositories")
        tables = (*known, *more)
        counts = ", ".join(f"(SELECT count(*) FROM {name}) AS {name}" for name in tables)  # noqa: S608
        (found,) = self.rows(f"SELECT {counts}")
        return dict(found._mapping)
