"""The hints of the memory as the bench's script reads them: word for word, and nothing guessed."""

import json

from benchmarks.plans.hints import Hint, aligned, hints_in, is_named, renamed
from shared.domain.plan import Subtask

STEP = (
    Subtask(1, "1", "Prepare", "true"),
    Subtask(2, "2", "Upload", "cp a /var/spool/in/next", check="test -s /var/spool/in/next"),
)
HINT = {
    "fix": "F7",
    "where": "a step failed in the same way",
    "names": {"legacy": "museum"},
    "replaced_there": [{"command": "cp b /srv/data/upload", "check": "test -s /srv/data/upload"}],
    "helped_there": [
        {"command": "rm /srv/data/old.log && systemctl stop legacy"},
        {"command": "cp b /srv/data/upload", "check": "test -s /srv/data/upload"},
    ],
}


def told(*hints: object) -> str:
    """What a planner is told of those hints."""
    listed = "\n".join(f"- {json.dumps(hint)}" for hint in hints)
    return f"Evidence.\n<fixes-12ab>\n{listed}\n</fixes-12ab>\nRevise the step."


def test_what_helped_stands_in_the_place_of_what_was_replaced() -> None:
    """Paths of another depth, words of the step and names of the hint are put in; checks stay."""
    (hint,) = hints_in(told(HINT))
    assert [(each.command, each.check) for each in hint.adapted(STEP)] == [
        ("true", None),
        ("rm /var/spool/in/old.log && systemctl stop museum", None),
        ("cp a /var/spool/in/next", "test -s /var/spool/in/next"),
    ]


def test_a_hint_for_another_failure_fits_only_the_same_step() -> None:
    """The same program with another message is no reason, unless only names differ."""
    other = HINT | {"where": "the same program failed with another message"}
    longer = other | {"replaced_there": [{"command": "cp -r b c d"}]}
    assert [each.fits(STEP) for each in hints_in(told(HINT, other, longer))] == [True, True, False]
    assert list(hints_in("Evidence.\nRevise the step.")) == []


def test_names_are_put_in_as_whole_words_only() -> None:
    """A name in the middle of a path, or in a longer word, is another one."""
    step = (Subtask(1, "1", "", "cat run/live.json live.json lives"), *STEP[1:])
    assert is_named("live.json", step)
    assert not is_named("live", STEP)
    assert renamed(step, {"live.json": "x"})[0].command == "cat run/live.json x lives"


def test_texts_of_another_form_give_no_names() -> None:
    """Where the words do not stand side by side, nobody knows which is which."""
    assert aligned((("cp a b", ""),), (("cp -r a b", ""),)) == {}
    assert Hint(step=(("true", ""),)).adapted(STEP)[0].command == "true"
