"""Whatever others have written can be stored as JSON, and means the same."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.store.storable_json import storable_json

TEXTS = st.text(st.characters(exclude_categories=()) | st.sampled_from('\x00\\u0"xd'))
VALUES = st.recursive(
    TEXTS | st.none() | st.booleans() | st.integers(-(2**53), 2**53),
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("a\x00b", "a\\x00b"),
        ("\x00", "\\x00"),
        ("\\u0000", "\\u0000"),
        ("\\\x00", "\\\\x00"),
        ("\\\\u0000\x00\x00", "\\\\u0000\\x00\\x00"),
        ("half \ud800", "half \\ud800"),
        ("\ud800\x00", "\\ud800\\x00"),
        ("ok", "ok"),
    ],
)
def test_what_postgres_does_not_take_becomes_an_escape(text: str, stored: str) -> None:
    assert json.loads(storable_json({"a": [text]})) == {"a": [stored]}
    assert json.loads(storable_json({text: 1})) == {stored: 1}


@given(VALUES)
def test_any_value_can_be_stored(value: Any) -> None:
    read = json.loads(storable_json(value))
    assert "\x00" not in json.dumps(read, ensure_ascii=False)
    assert storable_json(read) == storable_json(json.loads(storable_json(read)))


@given(st.text(st.characters(exclude_characters="\x00")))
def test_a_text_that_postgres_takes_stays_as_it_is(text: str) -> None:
    assert json.loads(storable_json(text)) == text
