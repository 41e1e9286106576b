"""A bundle survives being stored, and says all that S0.62-S0.70 ask for."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from shared.contracts.bundle import bundle_from_json, bundle_schema, bundle_to_json
from shared.domain.bundle import REQUEST, Bundle, LoggedAttempt, LoggedSubtask
from shared.domain.cause import Cause
from shared.domain.errors import Defect
from tests.unit.planning.given import attempt, bundle

SUBTASKS = st.builds(LoggedSubtask, timeout=st.floats(0.1, 86_400))
# Without limits, some seeds take minutes to make their bundles.
BUNDLES = st.builds(
    Bundle,
    subtasks=st.lists(SUBTASKS, max_size=3).map(tuple),
    attempts=st.lists(st.builds(LoggedAttempt), max_size=3).map(tuple),
    causes=st.lists(st.builds(Cause), max_size=3).map(tuple),
)


@settings(max_examples=60, deadline=None)
@given(BUNDLES)
def test_a_bundle_survives_being_stored(given_bundle: Bundle) -> None:
    stored = json.loads(json.dumps(bundle_to_json(given_bundle)))
    assert bundle_from_json(stored) == given_bundle


@settings(max_examples=30, deadline=None)
@given(BUNDLES)
def test_a_stored_bundle_fits_its_schema(given_bundle: Bundle) -> None:
    stored = json.loads(json.dumps(bundle_to_json(given_bundle)))
    Draft202012Validator(bundle_schema()).validate(stored)


def test_a_bundle_holds_the_whole_evidence() -> None:
    stored = bundle_to_json(bundle(improved_prompt="better"))
    assert stored["prompt"] != stored["improved_prompt"] == "better"
    assert [s["key"] for s in stored["subtasks"]] == ["update", "install"]
    log = {"command", "stdout", "stderr", "exit_code", "retry_count", "started_at", "ended_at"}
    assert all(log <= set(entry) for entry in stored["attempts"])
    assert {"snapshot", "config", "hypotheses", "failed_assumptions"} <= set(stored)
    assert stored["request"] == REQUEST


def test_keys_of_a_later_version_are_passed_over() -> None:
    stored = bundle_to_json(bundle()) | {"weather": "rain"}
    assert bundle_from_json(stored) == bundle()


@pytest.mark.parametrize("stored", [None, [], "bundle", {}, {"task_ref": "T1"}])
def test_what_is_no_bundle_is_a_defect_with_its_story(stored: object) -> None:
    with pytest.raises(Defect) as raised:
        bundle_from_json(stored)
    assert raised.value.story


def test_an_attempt_that_lost_a_value_is_a_defect_that_names_it() -> None:
    stored = bundle_to_json(bundle(attempts=(attempt(),)))
    del stored["attempts"][0]["command"]
    with pytest.raises(Defect) as raised:
        bundle_from_json(stored)
    assert any("attempts[0].command" in line for line in raised.value.story)
