"""What a runbook file may hold: jobs with their steps, and alternatives for when they fail.

    jobs:
      - id: restart-nginx
        match: ["restart nginx(?: on port (?P<port>[0-9]+))?"]   # over the prompt, any case
        summary: Restart nginx and see that it answers.
        example: restart nginx on port 8080                      # a prompt that matches
        parameters: {port: "80"}                                 # what a missing group stands for
        forms: {port: {pattern: "[0-9]+", about: port of nginx}} # what a value must be, as a whole
        steps: [...]                                             # as in a plan file
        revisions:
          - step: restart                                        # a step's id
            when: "Address already in use"                       # over the output of what failed
            reason: Something else holds the port; stop it first.
            subtasks: [...]                                      # as in a plan file
    projects:
      - id: report
        match: ["write the report"]
        analysis: {...}   # as `replan schema show project-answer` describes it
        tasks: [...]
    revisions: [...]      # without `step`: for any step of any task, whoever planned it

Named groups of `when` are parameters of the alternative, too. Only what is text can have parameters
in it: a timeout cannot. `${name}` is filled in as one word of the shell, with the quotes that its
value needs; so it may stand beside other text (`${folder}/www`), but not in quotes, backticks, a
comment or a here-document: what a host has printed could otherwise become a command.
"""

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document, unknown
from shared.contracts.documents import StepDocument, SubtaskDocument
from shared.contracts.fields import Text
from shared.contracts.origin import Origin
from shared.contracts.planfile import plan_in, revision_in
from shared.contracts.project_answer import AnalysisAnswer, DevTaskAnswer, ProjectAnswer
from shared.domain.author import Author, PlanningRole
from shared.domain.config import Policy
from shared.domain.errors import ReplanError
from shared.runbook import template


def _compile(pattern: str) -> str:
    try:
        found = re.compile(pattern)
    except re.error as error:
        told = f"{pattern!r} is not a regular expression: {error}"
        raise PydanticCustomError("pattern", "{told}", {"told": told}) from error
    if found.search("") is not None:
        told = f"{pattern!r} matches everything"
        raise PydanticCustomError("pattern", "{told}", {"told": told})
    return pattern


Pattern = Annotated[Text, AfterValidator(_compile)]
"""A regular expression that does not match the empty text."""


class Alternative(Document):
    """What to do instead if the output of the failure matches."""

    step: Text | None = None
    when: Pattern
    reason: Text
    subtasks: Annotated[list[SubtaskDocument], Field(min_length=1)]

    @model_validator(mode="after")
    def _can_be_carried_out(self) -> "Alternative":
        try:
            revision_in(self.document(), policy=Policy(), origin=_HERE)
        except ReplanError as error:
            raise _unfit(error.reason) from error
        return self

    @property
    def names(self) -> frozenset[str]:
        """The parameters that the evidence can fill."""
        return frozenset(re.compile(self.when).groupindex)

    def document(self) -> dict[str, Any]:
        """The subtasks as they were written."""
        return {"subtasks": [s.model_dump(exclude_unset=True) for s in self.subtasks]}

    def found_in(self, output: str) -> dict[str, str] | None:
        """The named groups of the match, or None when the pattern does not occur."""
        found = re.search(self.when, output, re.IGNORECASE | re.MULTILINE)
        return None if found is None else _parameters(found)


class Form(Document):
    """What a value of a parameter must be, as a whole, and what it says."""

    pattern: Pattern
    about: Text = ""

    def fits(self, value: str) -> bool:
        """Whether all of the value matches."""
        return re.fullmatch(self.pattern, value) is not None


class RunbookJob(Document):
    """A known job: the prompts that it matches, its steps, its alternatives.

    A prompt may end with `name=value` for each of its parameters; these count before the rest.
    """

    id: Text
    match: Annotated[list[Pattern], Field(min_length=1)]
    summary: Text = ""
    example: Text = ""
    parameters: dict[str, Text] = Field(default_factory=dict)
    forms: dict[str, Form] = Field(default_factory=dict)
    steps: Annotated[list[StepDocument], Field(min_length=1)]
    revisions: list[Alternative] = Field(default_factory=list)

    @model_validator(mode="after")
    def _can_be_carried_out(self) -> "RunbookJob":
        try:
            plan_in(self.document(), policy=Policy(), origin=_HERE)
        except ReplanError as error:
            raise _unfit(error.reason) from error
        keys = [step.key(ordinal) for ordinal, step in enumerate(self.steps, 1)]
        for alternative in self.revisions:
            if alternative.step is not None and alternative.step not in keys:
                told = f"an alternative is for step {alternative.step!r}, which is "
                raise _unfit(told + unknown(alternative.step, keys))
        _check_parameters("", self.document(), self.names)
        _check_each(self.revisions, self.names)
        self._check_values()
        return self

    def _check_values(self) -> None:
        for name in self.forms:
            if name not in self.names:
                raise _unfit(f"forms.{name}: there is no parameter " + unknown(name, self.names))
        for name, value in self.parameters.items():
            if (misfit := self.misfit(name, value)) is not None:
                raise _unfit(f"parameters.{name}: {misfit}")
        if self.example:
            asked = self.asked_in(self.example)
            told = "it does not match" if asked is None else self.missing(asked)
            if told is not None:
                raise _unfit(f"example: {told}")

    def misfit(self, name: str, value: str) -> str | None:
        """Why the parameter cannot have the value, None if it can."""
        if not is_plain(value):
            return f"{name} cannot be {value!r}"
        form = self.forms.get(name)
        if form is None or form.fits(value):
            return None
        about = f" ({form.about})" if form.about else ""
        return f"{name}{about} cannot be {value!r}: it does not match {form.pattern}"

    @property
    def names(self) -> frozenset[str]:
        """Its parameters: those that a prompt can fill, and those with a default."""
        told = (name for pattern in self.match for name in re.compile(pattern).groupindex)
        return frozenset((*self.parameters, *told))

    def document(self) -> dict[str, Any]:
        """The plan file of the job, with its parameters still open."""
        steps = [step.model_dump(exclude_unset=True) for step in self.steps]
        return {"summary": self.summary, "planner": "runbook", "steps": steps}

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(pattern, re.IGNORECASE) for pattern in self.match)

    def asked_in(self, prompt: str, *, whole: bool = False) -> dict[str, str] | None:
        """The parameters of the job if the prompt matches it, else None.

        With `whole`, nothing of the prompt may be left over but words of courtesy.
        """
        flat = " ".join(prompt.split())
        asked, told = self._split(_COURTESY.sub("", flat))
        for pattern in self._patterns:
            found = pattern.fullmatch(asked) or pattern.fullmatch(flat)
            if found is None and not whole:
                found = pattern.search(asked) or pattern.search(flat)
            if found is not None:
                return {**self.parameters, **_parameters(found), **told}
        return None

    def missing(self, values: Mapping[str, str]) -> str | None:
        """Why the parameters of its steps cannot be filled in; None if they can."""
        for name in sorted(template.parameters_in(self.document(), self.names)):
            if name not in values:
                return f"{name} has no value: end the prompt with {name}=VALUE"
            misfit = self.misfit(name, values[name])
            if misfit is not None:
                return misfit
        return None

    def _split(self, prompt: str) -> tuple[str, dict[str, str]]:
        """The prompt without the `name=value` at its end, and these."""
        words = prompt.split(" ")
        told: dict[str, str] = {}
        while words and (found := _TOLD.fullmatch(words[-1])) and found[1] in self.names:
            told.setdefault(found[1], found[2])
            words.pop()
        return " ".join(words), told


class RunbookProject(Document):
    """A known project: the goals that it matches, what there is, and what remains to be done."""

    id: Text
    match: Annotated[list[Pattern], Field(min_length=1)]
    summary: Text = ""
    analysis: AnalysisAnswer | None = None
    tasks: Annotated[list[DevTaskAnswer], Field(min_length=1)]

    @model_validator(mode="after")
    def _can_be_carried_out(self) -> "RunbookProject":
        try:
            answer = self.answer()
            answer.project(self.id, max_attempts=1)
            answer.plan(Author(PlanningRole.PLANNER, "runbook"))
        except ReplanError as error:
            raise _unfit(error.reason) from error
        return self

    def answer(self) -> ProjectAnswer:
        """The recorded answer of a manager."""
        return ProjectAnswer(summary=self.summary, analysis=self.analysis, tasks=self.tasks)

    def is_asked_in(self, goal: str) -> bool:
        """Whether the goal matches it."""
        flat = " ".join(goal.split())
        return any(re.search(pattern, flat, re.IGNORECASE) for pattern in self.match)


class RunbookFile(Document):
    """One file of the library."""

    jobs: list[RunbookJob] = Field(default_factory=list)
    projects: list[RunbookProject] = Field(default_factory=list)
    revisions: list[Alternative] = Field(default_factory=list)

    @model_validator(mode="after")
    def _can_be_filled_in(self) -> "RunbookFile":
        _check_each(self.revisions, frozenset())
        return self


_TOLD = re.compile(r"([a-z][a-z0-9_]*)=(\S+)")
_COURTESY = re.compile(r"^(?:please|kindly) |(?: please)?[.!]*$", re.IGNORECASE)

_HERE = Origin("it cannot be carried out", "plan")


def is_plain(value: str) -> bool:
    """Whether a value can be filled in.

    Text from a prompt, and even more so text printed by a host, must be a plain value: a command
    would take `-x` as an option.
    """
    return not value.startswith("-") and value.isprintable()


def _check_each(alternatives: list[Alternative], names: frozenset[str]) -> None:
    for number, alternative in enumerate(alternatives):
        _check_parameters(
            f"revisions[{number}].", alternative.document(), names | alternative.names
        )


def _check_parameters(where: str, document: dict[str, Any], names: frozenset[str]) -> None:
    faults = template.faults(document, names)
    if faults:
        raise _unfit("; ".join(f"{where}{fault}" for fault in faults))


def _unfit(reason: str) -> PydanticCustomError:
    return PydanticCustomError("unfit", "{told}", {"told": reason})


def _parameters(found: re.Match[str]) -> dict[str, str]:
    return {name: value for name, value in found.groupdict().items() if value is not None}
