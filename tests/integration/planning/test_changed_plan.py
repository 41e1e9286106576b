"""A changed plan remembers the person, what is done, and why it was changed."""

from pathlib import Path

from orchestrator.acts.interventions import answer
from orchestrator.acts.submission import Submission, submit
from shared.domain.config import Policy
from tests.fakes.model_server import Says
from tests.integration.planning.at_work import Installation
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)
from workers.llm.texts import prompt_texts


def reply(installation: Installation, given: str) -> None:
    """The person answers the one question that is open."""
    ((number,),) = installation.rows("SELECT id FROM interventions WHERE closed_at IS NULL")
    answer(installation.caller, f"I{number}", given)


def submit_task(installation: Installation) -> None:
    policy = Policy(auto_correction_enabled=False, taskmaster_enabled=True)
    submit(installation.database, Submission("serve pages", ("localhost",), policy))


UNCLEAR = {"prompt": "serve pages", "ask_question": "Which colour?", "ask_options": []}


def test_answers_and_reasons_reach_the_changed_plan(
    installation: Installation, tmp_path: Path
) -> None:
    """The taskmaster's question, a step's, and one of the changed plan, which is asked first."""
    ledger = tmp_path / "ledger"
    asks = step_answer("table", ask_question="Drop the old table?", depends_on=[])
    changed = plan_answer(asks) | {"summary": "The table is in the way: E: relation exists."}
    installation.model.will(
        Says(UNCLEAR),
        Says({"prompt": "serve pages", "ask_question": "", "ask_options": []}),
        Says(plan_answer(step_answer("folder"), step_answer("port", ask_question="Which port?"))),
        Says(detail_answer(subtask_answer("mkdir", f"echo made-{tmp_path.name}"))),
        Says(detail_answer(subtask_answer("install", "echo relation exists >&2; exit 100"))),
        Says(revision_answer(impossible="The table is in the way.")),
        Says(changed),
        Says(detail_answer(subtask_answer("drop", f"echo dropped >> {ledger}"))),
    )
    submit_task(installation)
    installation.carry_on()
    reply(installation, "deep blue")
    installation.carry_on()
    reply(installation, "9090")
    installation.carry_on()
    assert not ledger.exists(), "nothing of the new step has run"
    assert installation.rows("SELECT reason, stage FROM interventions WHERE closed_at IS NULL") == [
        ("Drop the old table?", "replan")
    ]
    assert [asked.wants for asked in installation.model.asked][-1] == "PlanAnswer"
    reply(installation, "yes")
    installation.carry_on()
    assert ledger.read_text() == "dropped\n"
    assert installation.rows("SELECT phase FROM tasks") == [("done",)]
    replan, detail = (asked.said[0] for asked in installation.model.asked[-2:])
    for said in (replan, detail):
        assert "Answered: deep blue" in said
        assert "Answered: 9090" in said
        assert f"made-{tmp_path.name}" in said, "what a finished step has found"
        assert "relation exists" in said, "the evidence"
    assert "Answered: yes" in detail
    assert "Title of folder [done before]" in detail
    assert "The table is in the way: E: relation exists." in detail, "why it was changed"


def test_the_planner_is_told_what_the_detailer_sees() -> None:
    assert "It sees the task, the step's instruction" in " ".join(prompt_texts().replan.split())
