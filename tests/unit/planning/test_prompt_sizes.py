"""How long the questions are, and how much of each a provider can keep in its cache.

`python -m pytest -s tests/unit/planning/test_prompt_sizes.py` prints the table of docs/models.md.
"""

import json
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from anthropic import transform_schema

from shared.contracts.schemas import schema_of
from shared.guard import load_site
from tests.unit.planning.given import (
    DETAIL_REQUEST,
    PLAN_REQUEST,
    REPLAN_REQUEST,
    revise_request,
)
from workers.llm.calls import ModelQuestion
from workers.llm.in_force import describe_policy
from workers.llm.prompts import (
    advise_question,
    detail_question,
    plan_question,
    refine_question,
    replan_question,
    revise_question,
)
from workers.llm.schema_forms import lean
from workers.llm.texts import prompt_texts
from workers.planning import Looks

TOKEN = 4
"""Characters of a token, about; newer tokenizers make up to a third more tokens."""

MOST = {
    "refine": 3700,
    "plan": 4400,
    "detail": 4800,
    "revise": 5700,
    "replan": 5200,
    "advise": 4000,
}
"""The most tokens of each question of this page, with its schema: the program's own share."""

RULES = describe_policy(load_site(None).for_host())
NOW = "2026-11-22 16:00 UTC (+0000)"
LOOKS = Looks(left=3, allowed=3)
TOLD: dict[str, Any] = {"rules": RULES, "now": NOW, "looks": LOOKS}


class Size(NamedTuple):
    """Tokens of a question: what comes first, what is said, the schema, and what is kept."""

    system: int
    said: int
    schema: int
    kept: int

    @property
    def total(self) -> int:
        """All of them."""
        return self.system + self.said + self.schema


def questions() -> dict[str, tuple[ModelQuestion, str]]:
    """One question of each kind, with the name of its schema."""
    texts = prompt_texts()
    plan = replace(PLAN_REQUEST, **TOLD)
    revise = revise_request(**TOLD)
    how: dict[str, Any] = {"model": "m", "schema": {}}
    return {
        "refine": (refine_question(texts, plan, **how), "refine-answer"),
        "plan": (plan_question(texts, plan, **how), "plan-answer"),
        "detail": (
            detail_question(texts, replace(DETAIL_REQUEST, **TOLD), **how),
            "detail-answer",
        ),
        "revise": (revise_question(texts, revise, **how), "revision-answer"),
        "replan": (replan_question(texts, replace(REPLAN_REQUEST, **TOLD), **how), "plan-answer"),
        "advise": (advise_question(texts, revise, **how), "advice-answer"),
    }


def size(question: ModelQuestion, schema: str) -> Size:
    """About how many tokens a question has."""
    (turn,) = question.timed().turns
    sent = json.dumps(transform_schema(lean(schema_of(schema))))
    kept = sum(map(len, question.system)) + (turn.breaks[-1] if turn.breaks else 0)
    return Size(
        sum(map(len, question.system)) // TOKEN,
        len(turn.text) // TOKEN,
        len(sent) // TOKEN,
        kept // TOKEN,
    )


@pytest.fixture(scope="module")
def sizes() -> dict[str, Size]:
    """The size of each question."""
    return {purpose: size(*asked) for purpose, asked in questions().items()}


def test_no_question_grows_unseen(sizes: dict[str, Size]) -> None:
    print("\n| question | system | said | schema | in all | kept in the cache |")
    for purpose, each in sizes.items():
        columns = (purpose, each.system, each.said, each.schema, each.total, each.kept)
        print(f"| {' | '.join(map(str, columns))} |")
    grown = {name: each.total for name, each in sizes.items() if each.total > MOST[name]}
    assert grown == {}


def test_most_of_a_question_that_is_asked_again_is_kept(sizes: dict[str, Size]) -> None:
    """A planner that may look is asked the same again, with what it has seen at the end.

    At most three beginnings of what is said: with the house rules, providers keep four.
    """
    for purpose in ("plan", "detail", "revise", "replan"):
        each = sizes[purpose]
        assert each.kept > 0.85 * (each.system + each.said), purpose
    assert max(len(asked.turns[0].breaks) for asked, _ in questions().values()) == 3


def test_the_looks_of_a_question_are_its_last_part() -> None:
    seen = replace(LOOKS, left=2)
    (turn,) = plan_question(
        prompt_texts(), replace(PLAN_REQUEST, **(TOLD | {"looks": seen})), model="m", schema={}
    ).turns
    (asked_before,) = questions()["plan"][0].turns
    assert turn.parts[:-1] == asked_before.parts[:-1]
    assert turn.parts[-1] != asked_before.parts[-1]
