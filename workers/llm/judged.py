"""An answer of a model, read and judged: what it gives, and everything that is wrong with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

from pydantic import ValidationError

from shared.contracts.answers import SubtaskAnswer
from shared.contracts.complaints import Document, describe
from shared.contracts.look_answer import looks_in
from shared.domain.errors import Rejected
from shared.domain.plan import Subtask
from workers.llm.calls import ModelQuestion, ModelReply
from workers.llm.look_text import NO_MORE_LOOKS
from workers.llm.parsing import NotAnAnswer, object_in
from workers.llm.review import AnswerFault, AnswerFaultKind
from workers.llm.schema_forms import Schema, without_nulls
from workers.planning import LooksFirst, NotAsPlanned

Answer = TypeVar("Answer", bound=Document)
Value = TypeVar("Value")

Review = Callable[[Sequence[Subtask]], Sequence[AnswerFault]]
"""Finds the faults in the commands of an answer (`workers.llm.review.Reviewer`)."""


@dataclass(frozen=True, slots=True)
class Judged(Generic[Value]):
    """The value of an answer, None if it has none, and all its faults.

    `form` is the schema of the answer, for a model that may never have heard of it. `told` is said
    to the model in place of the faults, where they are in words for a person.
    """

    value: Value | None
    faults: tuple[AnswerFault, ...] = ()
    form: Schema | None = None
    told: str = ""

    @property
    def usable(self) -> bool:
        """Whether the value can be used, with the faults that it has."""
        return self.value is not None and not any(fault.final for fault in self.faults)

    @property
    def reason(self) -> str:
        """All its faults, one on each line; they show no secret."""
        return "\n".join(map(str, self.faults))

    @property
    def complaint(self) -> str:
        """The same in words for the model."""
        return self.told or self.reason

    def or_else(self, earlier: "Judged[Value]") -> "Judged[Value]":
        """This answer, or the earlier one if only that one can be used."""
        return earlier if earlier.usable and not self.usable else self


def judged(give: Callable[[], Value]) -> Judged[Value]:
    """The value, or the reason of the Rejected that it raises."""
    try:
        return Judged(give())
    except Rejected as error:
        return Judged(None, (_unusable(error.reason),))


def faults_of(*rules: Callable[[], None]) -> tuple[AnswerFault, ...]:
    """The reasons of all rules that raise Rejected, each once."""
    return tuple(dict.fromkeys(fault for rule in rules for fault in judged(rule).faults))


def faults_in(
    subtasks: Sequence[Subtask], rule: Callable[[Sequence[Subtask]], None]
) -> tuple[AnswerFault, ...]:
    """The reasons of a rule that raises Rejected, asked of each subtask by itself."""
    return tuple(fault for subtask in subtasks for fault in judged(partial(rule, [subtask])).faults)


def no_review(subtasks: Sequence[Subtask]) -> Sequence[AnswerFault]:  # noqa: ARG001 - a `Review`
    """For an answer without commands."""
    return ()


def read(
    reply: ModelReply,
    question: ModelQuestion,
    kind: type[Answer],
    judge: Callable[[Answer], Judged[Value]],
    review: Review = no_review,
) -> Judged[Value]:
    """The answer, judged. Of one that has not the right form, the commands are judged even so.

    Raises NotAsPlanned when the model says that it cannot or must not be done, and LooksFirst when
    it wants to look before it answers, and may.
    """
    if reply.fault is not None:
        return Judged(None, (_unusable(reply.fault.reason),), told=reply.fault.complaint)
    try:
        given = without_nulls(object_in(reply.text))
        if wanted := looks_in(given):
            if question.looks_left:
                raise LooksFirst(wanted)
            return Judged(None, (_unusable(NO_MORE_LOOKS),))
    except NotAnAnswer as error:
        return Judged(None, (_unusable(str(error)),), question.schema)
    try:
        answer = kind.model_validate(given)
    except ValidationError as error:
        faults = (_unusable(describe(error)), *review(_readable(given)))
        return Judged(None, faults, question.schema)
    why_not = getattr(answer, "impossible", "").strip()
    if why_not:
        raise NotAsPlanned(
            f"the model says that this cannot be done: {why_not}",
            stage=question.purpose,
            next_step=question.next_step,
        )
    return judge(answer)


def _unusable(reason: str) -> AnswerFault:
    return AnswerFault(AnswerFaultKind.UNUSABLE, reason)


def _readable(given: Any) -> list[Subtask]:
    """The subtasks of an answer that are of the right form themselves."""
    listed = given.get("subtasks") if isinstance(given, dict) else None
    found = []
    for number, each in enumerate(listed if isinstance(listed, list) else (), 1):
        try:
            found.append(SubtaskAnswer.model_validate(each).subtask(number))
        except ValidationError:
            continue
    return found
