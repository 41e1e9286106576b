"""The JSON object in an answer is found, and an answer without one gets a clear message."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workers.llm.parsing import NotAnAnswer, object_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)


@given(OBJECTS)
def test_an_object_alone_is_found(value: dict[str, object]) -> None:
    assert object_in(json.dumps(value)) == value
    assert object_in(json.dumps(value, indent=2, ensure_ascii=False)) == value


@given(OBJECTS)
def test_an_object_in_prose_is_found(value: dict[str, object]) -> None:
    assert object_in(f"Here it is:\n{json.dumps(value)}\nThat is all.") == value


@given(OBJECTS)
def test_an_object_in_a_fence_is_found(value: dict[str, object]) -> None:
    text = json.dumps(value)
    assert object_in(f"The {{plan}}:\n```json\n{text}\n```\nDone {{it}}.") == value
    assert object_in(f"```\n{text}```") == value


def test_a_fence_inside_a_command_does_not_end_the_object() -> None:
    value = {"command": "cat <<'END'\n```\ntext\n```\nEND"}
    assert object_in(json.dumps(value)) == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "empty"),
        (" \n", "empty"),
        ("I cannot.", "not a JSON object"),
        ("[1]", "a list"),
        ('"text"', "a str"),
        ("null", "a NoneType"),
        ('{"a": 1', "not a JSON object"),
        ('{"a": NaN}', "not a JSON object"),
        ('{"a": 1} {"b": 2}', "not a JSON object"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_object_is_told(text: str, says: str) -> None:
    with pytest.raises(NotAnAnswer, match=says):
        object_in(text)
