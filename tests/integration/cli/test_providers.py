"""Tasks on models of other providers, from the sentence to the end, with what they cost."""

from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from tests.fakes.model_server import KEY, Says, model_server
from tests.integration.cli.calling import Cli
from tests.integration.cli.conftest import at_work
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)

ON_BEDROCK = "eu.anthropic.claude-sonnet-4-5-20250929-v1:0"
PROVIDED = {
    # 100 tokens in, 10 out, 7 from the cache, 3 into it: at 2, 10, 0.1 and 2.5 dollars a million
    "openai": (
        {"OPENAI_BASE_URL": "URL/v1", "OPENAI_API_KEY": KEY, "REPLAN_MODEL": "gpt-6.2-sol"},
        Decimal("0.0003082"),
    ),
    # at 3, 15, 0.3 and 3.75, and a tenth more because it stays in the EU; kept to 8 places
    "bedrock": (
        {
            "ANTHROPIC_BEDROCK_BASE_URL": "URL",
            "AWS_REGION": "eu-west-1",
            "AWS_ACCESS_KEY_ID": "AKIAMADEUP",
            "AWS_SECRET_ACCESS_KEY": KEY,
            "REPLAN_MODEL": ON_BEDROCK,
        },
        Decimal("0.00050969"),
    ),
}


@pytest.mark.parametrize("provider", PROVIDED)
def test_a_task_is_planned_detailed_revised_and_done_and_its_bill_is_right(
    provider: str,
    coordinated: Cli,
    database_url: str,
    bare: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given, cost = PROVIDED[provider]
    with ExitStack() as ended, capture_logs(), model_server() as model:
        model.will(Says(plan_answer(step_answer("only"))), wanted="PlanAnswer")
        made, check = bare / "made", f"test -s '{bare}/made'"
        fails = detail_answer(subtask_answer("a", f"cat '{bare}/missing' > '{made}'", check=check))
        model.will(Says(fails), wanted="DetailAnswer")
        revision = revision_answer(subtask_answer("b", f"echo 1 > '{made}'", check=check))
        model.will(Says("{"), Says(revision), wanted="RevisionAnswer")
        environ = {name: value.replace("URL", model.url) for name, value in given.items()}
        environ |= {"REPLAN_MODEL_PROVIDER": provider, "HOME": str(bare)}
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        ended.enter_context(at_work(environ | {"REPLAN_DATABASE_URL": database_url}))
        limits = ("--set", "error_threshold_per_step=1", "--set", "auto_correction_enabled=off")
        done = coordinated.json("task", "submit", "do it", "--local", *limits, "--wait")
        ref = done["details"]["ref"]
        assert model.unused() == 0
        assert {asked.model for asked in model.asked} == {environ["REPLAN_MODEL"]}
    assert coordinated.rows("SELECT phase, revision FROM run_steps") == [("done", 1)]
    calls = coordinated.rows("SELECT purpose, cost FROM model_calls ORDER BY id")
    purposes = ["plan", "detail", "revise", "revise"]
    assert [(call.purpose, call.cost) for call in calls] == [(each, cost) for each in purposes]
    spent = coordinated.json("task", "show", ref)["details"]["spending"]
    assert (spent["cost"], spent["calls"]) == (float(4 * cost), 4)
    shown = coordinated.json("step", "show", f"{ref}.1@localhost")["details"]
    assert [each["author"] for each in shown["revisions"]] == [f"subtask_planner/{provider}"] * 2
    assert KEY not in str(coordinated.everything())


def test_the_provider_is_shown_where_settings_are(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAN_MODEL_PROVIDER", "openai")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    listed = cli.json("config", "show")["details"]["settings"]
    shown = {each["key"]: (each["value"], each["source"]) for each in listed}
    assert shown["model_provider"] == ("openai", "REPLAN_MODEL_PROVIDER")
    assert shown["planner"] == ("openai", "model_provider")
    assert shown["openai_api_key"] == ("set", "OPENAI_API_KEY")
    assert shown["model"] == ("", "model_provider")
    found = cli.json("doctor", code=1)["details"]["findings"]
    (models,) = [each for each in found if each["check"] == "models"]
    assert "the provider openai has no default model" in models["reason"]
    assert models["next_step_cmd"] == "export REPLAN_MODEL=NAME"
