"""References: what is printed can be typed, and what cannot be read is refused with a sentence."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.errors import Rejected
from shared.domain.ids import LOOKS, Ref, attempt_key, parse_ref, parse_step
from shared.domain.next_step import command_line

NUMBERS = st.integers(1, 10**9)
TARGETS = st.none() | st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,20}", fullmatch=True)


@st.composite
def refs(draw: st.DrawFn) -> Ref:
    """A place as deep as it may be: a step needs a task, a subtask a step, an attempt a subtask."""
    depth = draw(st.integers(0, 3))
    numbers = [draw(NUMBERS) for _ in range(depth)] + [None] * (3 - depth)
    step, subtask, attempt = numbers
    return Ref(draw(NUMBERS), step, subtask, attempt, draw(TARGETS))


@given(refs())
def test_what_is_printed_can_be_typed(ref: Ref) -> None:
    """Printing and reading are each other's inverse."""
    assert parse_ref(str(ref)) == ref


@given(refs())
def test_the_t_may_be_small_or_missing(ref: Ref) -> None:
    """People type `t12.2` and `12.2` for `T12.2`."""
    assert parse_ref(str(ref).removeprefix("T")) == ref
    assert parse_ref(f"t{str(ref)[1:]}") == ref


@given(st.text(max_size=30))
def test_any_other_text_is_refused_or_read_for_good(text: str) -> None:
    """Nothing typed breaks the reader; what it accepts, it prints again in a way it accepts."""
    with suppress(Rejected):
        ref = parse_ref(text)
        assert parse_ref(str(ref)) == ref


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T12", Ref(12)),
        ("12", Ref(12)),
        ("T12@web1", Ref(12, target="web1")),
        ("T12.2", Ref(12, 2)),
        ("T12.2.3", Ref(12, 2, 3)),
        ("T12.2.3#2@web-1.example", Ref(12, 2, 3, 2, "web-1.example")),
        ("T12.2@10.0.0.1", Ref(12, 2, target="10.0.0.1")),
    ],
)
def test_the_forms_people_type(text: str, expected: Ref) -> None:
    """The forms that the documentation shows."""
    assert parse_ref(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "T", "T0", "T-1", "T01", "T1.", "T1.0", "T1..2", "T1.2.3.4", "T1.2#1", "T1#1",
        "T1@", "T1@-x", "T1@a b", "T1 ", " T1", "T1\n", "X1", "TT1", "T1.2.3#0", "T1@a@b", "web1",
    ],
)  # fmt: skip
def test_what_is_no_reference_is_refused_with_examples(text: str) -> None:
    """The sentence shows what references look like and quotes what was typed."""
    with pytest.raises(Rejected, match="they look like T12") as caught:
        parse_ref(text)
    assert repr(text) in str(caught.value)
    assert (caught.value.stage, command_line(caught.value.next_step)) == (
        "input",
        "replan task list",
    )


@pytest.mark.parametrize("text", ["9" * 5000, "T1\u0663", "9" * 30])
def test_a_number_no_database_can_hold_is_refused(text: str) -> None:
    """Foreign digits and numbers beyond 64 bits are no references of ours."""
    with pytest.raises(Rejected):
        parse_ref(text)


def test_the_same_place_elsewhere() -> None:
    """A place can be taken to another target, or back to its task."""
    ref = parse_ref("T12.2.3#2@web1")
    assert str(ref.at("web2")) == "T12.2.3#2@web2"
    assert str(ref.at(None)) == "T12.2.3#2"
    assert str(ref.of_task()) == "T12"


@given(st.lists(st.tuples(*[st.integers(0, 30)] * 6), unique=True, max_size=20))
def test_no_two_attempts_share_a_key(places: list[tuple[int, int, int, int, int, int]]) -> None:
    """Whoever resumes a pass computes the same key, and nobody else does."""
    keys = [attempt_key(*place) for place in places]
    assert len(set(keys)) == len(places)
    assert keys == [attempt_key(*place) for place in places]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T12.look#1@web1", Ref(12, None, LOOKS, 1, "web1")),
        ("T12.2.look#3@web1", Ref(12, 2, LOOKS, 3, "web1")),
        ("T12.look", Ref(12, None, LOOKS)),
    ],
)
def test_a_look_has_a_name(text: str, expected: Ref) -> None:
    """It is one of the planner of the task, or of that of a step."""
    assert parse_ref(text) == expected
    assert str(expected) == text


@pytest.mark.parametrize("text", ["T12.2#1", "T12.look.1", "T12.2.3.look", "T12.0", "T12.2.0#1"])
def test_nothing_else_becomes_one(text: str) -> None:
    """An attempt needs its subtask, and a look is of no subtask."""
    with pytest.raises(Rejected):
        parse_ref(text)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("T12.2-r0-p1@app", "T12.2@app"),
        ("T12.2-r3-p10", "T12.2"),
        ("T12.2@app", "T12.2@app"),
        ("T12.2.1#3@app-r0-p1x", "T12.2.1#3@app-r0-p1x"),
    ],
)
def test_the_id_of_a_pass_means_its_step(text: str, place: str) -> None:
    assert str(parse_step(text)) == place
