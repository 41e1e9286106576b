"""A question to a person, and the answer to it (S3.11, S3.12, S3.28)."""

from collections.abc import Iterable
from dataclasses import dataclass

from shared.domain.errors import Rejected
from shared.domain.next_step import Advice

MOST_OPTIONS = 20
"""Nobody reads more answers than this."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person; `options` lists the answers to choose from, empty for any answer.

    `details` say what each of them means; empty if nothing does.
    """

    text: str
    options: tuple[str, ...] = ()
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reply:
    """A question and a person's answer."""

    question: str
    answer: str

    def __str__(self) -> str:
        return f"Asked: {' '.join(self.question.split())}\nAnswered: {self.answer}"


@dataclass(frozen=True, slots=True)
class PassReply:
    """A person's answer to the question at which a pass over a step ended."""

    revision: int
    pass_no: int
    reply: Reply


def transcript(replies: Iterable[Reply]) -> str:
    """Questions and answers as a planner reads them; empty when nothing was asked."""
    return "\n".join(map(str, replies))


def choice(
    question: Question, given: str, *, any_text: bool = False, next_step: Advice | None = None
) -> str:
    """The answer that a person means: any text or, if there are options, one of them.

    An option is chosen by its text, in any case, or by its number, from 1. With `any_text`, the
    options are suggestions. Raises Rejected for an empty answer and for one that is not allowed.
    """
    answer = given.strip()
    if not answer:
        raise Rejected("the answer is empty", stage="input", next_step=next_step)
    if not question.options:
        return answer
    for number, option in enumerate(question.options, 1):
        if answer.casefold() == option.strip().casefold() or answer == str(number):
            return option
    if any_text:
        return answer
    listed = ", ".join(f"{number}: {option}" for number, option in enumerate(question.options, 1))
    raise Rejected(
        f"{answer!r} is not one of the answers: {listed}",
        stage="input",
        next_step=next_step,
    )
