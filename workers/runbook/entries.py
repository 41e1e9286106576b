"""What a runbook file may hold: jobs with their steps, and alternatives for when they fail.

    jobs:
      - id: restart-nginx
        match: ["restart nginx(?: on port (?P<port>[0-9]+))?"]   # over the prompt, any case
        summary: Restart nginx and see that it answers.
        parameters: {port: "80"}                                 # what a missing group stands for
        steps: [...]                                             # as in a plan file
        revisions:
          - step: restart                                        # a step's id
            when: "Address already in use"                       # over the output of what failed
            reason: Something else holds the port; stop it first.
            subtasks: [...]                                      # as in a plan file
    revisions: [...]      # without `step`: for any step of any task, whoever planned it

Named groups of `when` are parameters of the alternative, too.
"""

import re
from functools import cached_property
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _compiled(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"is no regular expression: {error}") from error
    return pattern


class Alternative(_Entry):
    """What to do instead when the output of what failed matches."""

    step: str | None = None
    when: str
    reason: str
    subtasks: list[dict[str, Any]] = Field(min_length=1)

    _when = field_validator("when")(_compiled)

    def found_in(self, output: str) -> dict[str, str] | None:
        """The named groups of the match, or None when the pattern does not occur."""
        found = re.search(self.when, output, re.IGNORECASE | re.MULTILINE)
        return None if found is None else _named(found)


class Job(_Entry):
    """A job that is known: how it is asked for, its steps, its alternatives."""

    id: str
    match: list[str] = Field(min_length=1)
    summary: str = ""
    parameters: dict[str, str] = Field(default_factory=dict)
    steps: list[dict[str, Any]] = Field(min_length=1)
    revisions: list[Alternative] = Field(default_factory=list)

    @field_validator("match")
    @classmethod
    def _match(cls, patterns: list[str]) -> list[str]:
        return [_compiled(pattern) for pattern in patterns]

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.match)

    def asked_in(self, prompt: str) -> dict[str, str] | None:
        """The parameters of the job when the prompt asks for it, else None."""
        flat = " ".join(prompt.split())
        for pattern in self._patterns:
            found = pattern.search(flat)
            if found is not None:
                return {**self.parameters, **_named(found)}
        return None


class RunbookFile(_Entry):
    """One file of the library."""

    jobs: list[Job] = Field(default_factory=list)
    revisions: list[Alternative] = Field(default_factory=list)


def _named(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value is not None}
