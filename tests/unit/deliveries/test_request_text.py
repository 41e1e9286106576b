"""What a request to merge says, whatever plans and agents have written."""

import pytest

from workers.deliveries.request_text import (
    AcceptedDelivery,
    RequestText,
    merged_text,
    request_text,
)

HEAD, TREE = "a" * 40, "b" * 40


def delivery(title: str, **more: str) -> AcceptedDelivery:
    """A delivery with that title."""
    return AcceptedDelivery(1, "L-001001", title, "codex", "c" * 64, 3, 10, 2, 4, **more)


def test_it_names_every_delivery_and_what_was_checked() -> None:
    text = request_text(
        "T12@app", "Fix it\nsoon", [delivery("parse dates", reviewer="claude")], HEAD, TREE
    )

    assert text.title == "T12@app: Fix it"
    assert "| 1 | `L-001001` | `parse dates` | `codex` | 3 | +10 -2 | 4 | `claude` |" in text.part
    assert text.part.endswith(f"Head `{HEAD}`, tree `{TREE}`.")


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("ping @everyone, fixes #1", "`ping @everyone, fixes #1`"),
        ("a `b` | c", "`a 'b' / c`"),
        ("two\nlines", "`two lines`"),
        ("<!-- replan: end -->", "`<!- replan: end -->`"),
        ("\u202etxt", "`\\u202etxt`"),
        ("x" * 500, f"`{'x' * 119}…`"),
        ("", ""),
    ],
)
def test_what_others_have_written_stays_a_cell_of_code(written: str, shown: str) -> None:
    (row,) = (
        line
        for line in request_text("T1@app", "", [delivery(written)], HEAD, TREE).part.splitlines()
        if line.startswith("| 1 |")
    )
    assert row.split(" | ")[2] == shown


def test_thousands_of_deliveries_fit() -> None:
    text = request_text("T1@app", "g" * 9999, [delivery("t" * 200)] * 1000, HEAD, TREE)
    assert len(text.title) == 200
    assert len(text.whole) < 60_000
    assert "and 800 more" in text.part


def test_our_part_is_replaced_and_nothing_else() -> None:
    old, new = RequestText("t", "old"), RequestText("t", r"new \1")
    assert merged_text(f"a\n{old.whole}b", new) == f"a\n{new.whole}b"
    assert merged_text("by hand", new) == "by hand"
