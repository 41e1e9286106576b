"""The acceptance checks of a step: which they are, and what becomes of them in a revision."""

from shared.domain.acceptance import (
    CONFIRM,
    acceptance_checks,
    acceptance_of,
    confirm_drops,
    dropped_by,
    is_added,
    keep_checks,
    missing_checks,
)
from shared.domain.author import Author, PlanningRole
from shared.domain.plan import DroppedCheck, Revision, Subtask, check_subtasks

AUTHOR = Author(PlanningRole.SUBTASK_PLANNER, "anthropic")


class Proofs:
    """Takes `true` for a check that proves nothing, and `see …` for a look."""

    def proves(self, check: str) -> bool:
        return check != "true"

    def is_look(self, command: str) -> bool:
        return command.startswith("see ")


PROOFS = Proofs()
INSTALL = Subtask(1, "install", "t", "install it", check="is installed")
START = Subtask(2, "start", "t", "start it", check="is active", needs=("install",))
SEE = Subtask(3, "see", "t", "see it", needs=("start",))
TIDY = Subtask(3, "tidy", "t", "tidy up", needs=("start",))


def test_what_no_other_subtask_needs_stands_for_the_result() -> None:
    assert acceptance_checks([INSTALL, START], PROOFS) == ("is active",)
    assert acceptance_checks([INSTALL, START, SEE], PROOFS) == ("see it",)


def test_where_nothing_is_looked_at_the_checks_before_take_its_place() -> None:
    assert acceptance_checks([INSTALL, START, TIDY], PROOFS) == ("is active",)
    assert acceptance_checks([Subtask(1, "a", "t", "do", check="true")], PROOFS) == ()


def test_a_check_is_missing_until_a_list_makes_it_or_a_revision_names_it() -> None:
    first = Revision(1, 0, AUTHOR, (INSTALL, START))
    other = (Subtask(1, "a", "t", "b", check="is there"),)
    assert missing_checks(acceptance_of([first], PROOFS), other) == ("is active",)
    assert missing_checks(acceptance_of([first], PROOFS), [START]) == ()
    named = DroppedCheck("is  active", "there is no unit")
    second = Revision(1, 1, AUTHOR, other, dropped_checks=(named,))
    assert acceptance_of([first, second], PROOFS) == ()
    assert dropped_by([named], ("is active",), other) == (
        DroppedCheck("is active", "there is no unit"),
    )
    assert dropped_by([named], ("is active",), [START]) == ()


def test_a_kept_check_comes_after_the_whole_list() -> None:
    kept = keep_checks([INSTALL, TIDY], ["is active"])
    check_subtasks([INSTALL, START, *kept[1:]])
    assert (kept[-1].check, kept[-1].ordinal) == ("is active", 3)
    assert set(kept[-1].needs) == {"install", "tidy"}
    assert [is_added(each) for each in kept] == [False, False, True]


def test_a_person_confirms_dropped_checks_before_anything_else() -> None:
    dropped = [DroppedCheck("test -s 'a b'", "it holds ${secret:PIN}; rm -rf /")]
    confirm, install, start = confirm_drops([INSTALL, START], dropped)
    assert (confirm.key, confirm.critical, confirm.ordinal) == (CONFIRM, True, 1)
    assert "${secret:" not in confirm.command
    assert (install.needs, start.needs) == ((CONFIRM,), ("install",))
    assert [install.ordinal, start.ordinal] == [2, 3]
    check_subtasks([confirm, install, start])
    assert confirm_drops([INSTALL], []) == (INSTALL,)
