"""Checks of a tree run in one round, which begins with exactly its files."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import pytest

from shared.domain.attempt import CommandResult, EndedBy, Unknown
from shared.domain.errors import Rejected, Transient
from shared.domain.outcome import Outcome
from shared.domain.verdict import Verdict, VerdictKind
from tests.fakes.scripted_shell import ScriptedShell
from workers.acceptances import JudgementPlace
from workers.deliveries.tree_checks import MOST_ROUNDS, CheckResult, run_checks
from workers.shells.door import Door

PLACE = JudgementPlace(1, 2, 0, 1, 3)
NOW = datetime.now(UTC)
CUT = CommandResult("second", None, b"", b"", NOW, NOW, unknown=Unknown.HOST_RESTARTED)


class EverythingAllowed:
    """A guard that allows everything."""

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:  # noqa: ARG002
        """Yes."""
        return Verdict(VerdictKind.ALLOW, "", "")


@dataclass
class Checking:
    """A host, what is recorded of the checks there, and how often their files were made fresh."""

    shell: ScriptedShell = field(default_factory=ScriptedShell)
    ended: list[tuple[str, Outcome]] = field(default_factory=list)
    fresh: list[int] = field(default_factory=list)
    is_over: bool = False

    def begin(self, key: str, command: str) -> None:
        """A check begins."""

    def end(self, key: str, result: CommandResult, outcome: Outcome, reason: str) -> str:  # noqa: ARG002
        """It has ended."""
        self.ended.append((key.partition("-c")[2], outcome))
        return key

    def cut(self, *rounds: int) -> None:
        """The second check was cut short in these rounds, and the first one was green."""
        for round_no in rounds:
            green = replace(CUT, command="first", exit_code=0, unknown=None)
            self.shell.remember(PLACE.key(1, round_no), "first", green)
            self.shell.remember(PLACE.key(2, round_no), "second", CUT)

    def run(self) -> tuple[CheckResult, ...]:
        """Run them."""
        return run_checks(
            Door(self.shell, EverythingAllowed()),
            ("first", "second"),
            key=PLACE.key,
            log=self,
            timeout=9.0,
            fresh=lambda: self.fresh.append(len(self.shell.calls)),
            is_over=lambda: self.is_over,
        )


def test_the_first_round_begins_with_the_files_of_the_tree() -> None:
    """Whatever an earlier judgement has left in them."""
    checking = Checking()
    assert [each.ok for each in checking.run()] == [True, True]
    assert checking.fresh == [0]
    assert checking.ended == [("3.1", Outcome.OK), ("3.2", Outcome.OK)]


def test_whoever_drives_a_round_on_makes_nothing_fresh() -> None:
    """A check has changed files that the next one needs."""
    checking = Checking()
    checking.run()
    checking.shell.resume()
    checking.run()
    assert checking.fresh == [0]
    assert checking.shell.commands == ["first", "second"]


def test_a_check_that_was_cut_short_runs_again_in_a_round_of_its_own() -> None:
    """With all those before it: what they made may be gone."""
    checking = Checking()
    checking.cut(1)
    assert [each.ok for each in checking.run()] == [True, True]
    assert checking.shell.commands == ["first", "second"]
    assert checking.fresh == [0]
    assert checking.ended[1:] == [
        ("3.2", Outcome.UNKNOWN),
        ("3.1.2", Outcome.OK),
        ("3.2.2", Outcome.OK),
    ]


def test_a_person_decides_about_checks_that_are_cut_short_each_time() -> None:
    checking = Checking()
    checking.cut(*range(1, MOST_ROUNDS + 1))
    with pytest.raises(Rejected, match="cut short each time"):
        checking.run()
    assert checking.shell.commands == []


def test_nothing_begins_again_for_nobody() -> None:
    """The judgement was withdrawn, or another worker has it."""
    checking = Checking(is_over=True)
    checking.cut(1)
    checking.shell.remember(PLACE.key(2), "second", replace(CUT, ended_by=EndedBy.CANCEL))
    with pytest.raises(Transient):
        checking.run()
    assert checking.shell.commands == []


@pytest.mark.parametrize("round_no", [1, 2, MOST_ROUNDS])
def test_the_key_of_a_check_names_its_judgement(round_no: int) -> None:
    assert JudgementPlace.of_key(PLACE.key(7, round_no)) == PLACE
    assert len({PLACE.key(7, n) for n in range(1, MOST_ROUNDS + 1)}) == MOST_ROUNDS
