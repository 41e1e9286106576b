"""The oracle can fail: each thing that must not be is found, and counted as what it is."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from orchestrator.acts.submission import Submission
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from shared.domain.task import TaskPhase
from tests.chaos.evidence import Evidence
from tests.chaos.ledger import Ledger, Record
from tests.chaos.oracle import Excuses, Verdict, judge
from tests.chaos.orders import Book, Known, Order, PassOnHost, Try

SAYS = Try(stdout="out\n", stderr="err\n")
TWICE = Known("k1.1.1", 1, 1, (Try(Outcome.FAILED, 7), SAYS))
NEVER = Known("k1.1.2", 1, 2, (Try(Outcome.DENIED, None),))
ORDER = Order("k1", "web1", Submission("p", ("web1",), Policy()), (TWICE, NEVER), TaskPhase.WAITING)


def row(wanted: Try, **other: Any) -> SimpleNamespace:
    """An attempt as it was to be, but for what is named."""
    values = {
        "key": "R1",
        "outcome": wanted.outcome.value,
        "exit_code": wanted.exit_code,
        "stdout": wanted.stdout,
        "stderr": wanted.stderr,
        "whole": None,
        "reason": "",
        "since": 100.0,
        "until": 110.0,
    }
    return SimpleNamespace(**(values | other))


RIGHT = Evidence(
    phases={1: "waiting"},
    attempts={
        1: {(1, 0, 1): [row(each) for each in TWICE.tries], (1, 0, 2): [row(NEVER.tries[0])]}
    },
    stories={},
    left=(),
    owners=(SimpleNamespace(id=1, queue="execution", owner="executor.7@here/ab", task_id=1),),
    early=(),
    defects=(),
)


EARLY = SimpleNamespace(key="R1", since=100.0)


def judged(
    begun: int = 2,
    ended: int = 2,
    *,
    others: tuple[str, ...] = (),
    evidence: Evidence = RIGHT,
    excused: bool = False,
    cut: bool = False,
) -> Verdict:
    """The verdict on the one order."""
    record = Record(Counter({TWICE.name: begun, **dict.fromkeys(others, 1)}), Counter())
    record.ended[TWICE.name] = ended
    return judge(Book({1: ORDER}), record, evidence, excuses(unknown=excused, cut=cut))


def excuses(*, unknown: bool = False, cut: bool = False) -> Excuses:
    """What faults explain wherever and whenever they were."""
    return Excuses(lambda _host, _since, _until: unknown, lambda _host, _since, _until: cut)


NOTHING = excuses()


def with_rows(*rows: SimpleNamespace) -> Evidence:
    """The evidence with other attempts of the first command."""
    return replace(RIGHT, attempts={1: {**RIGHT.attempts[1], (1, 0, 1): list(rows)}})


def test_what_is_right_is_clean() -> None:
    assert judged().clean


def test_a_second_beginning_is_a_dup() -> None:
    verdict = judged(begun=3)
    assert len(verdict.dup) == 1
    assert not verdict.loss


def test_a_beginning_of_what_must_not_run_is_a_dup() -> None:
    assert judged(others=(NEVER.name,)).dup == [f"{NEVER.name} began 1 times, not 0"]


def test_a_beginning_that_nobody_ordered_is_forged() -> None:
    assert judged(others=("k9.1.1",)).forged == ["k9.1.1 ran, ordered by nobody"]


def test_a_task_elsewhere_than_at_its_end_is_lost() -> None:
    for phase in ("running", "done", "error"):
        assert len(judged(evidence=replace(RIGHT, phases={1: phase})).loss) == 1
    assert len(judged(evidence=replace(RIGHT, phases={})).loss) == 1


def test_an_attempt_without_a_row_is_lost() -> None:
    assert len(judged(evidence=with_rows(row(TWICE.tries[0]))).loss) == 1


def test_other_bytes_and_other_exit_codes_are_losses() -> None:
    first = row(TWICE.tries[0])
    for different in ({"stdout": "ou"}, {"stderr": ""}, {"exit_code": 1}, {"whole": b"out"}):
        assert len(judged(evidence=with_rows(first, row(SAYS, **different))).loss) == 1
    assert judged(evidence=with_rows(first, row(SAYS, stdout="o…", whole=b"out\n"))).clean


def test_output_that_lacks_a_part_is_excused_by_a_full_disk_alone() -> None:
    longer = replace(TWICE, tries=(TWICE.tries[0], Try(stdout="1\n2\n3\n", stderr="err\n")))
    order = replace(ORDER, known=(longer, NEVER))

    def verdict(stdout: str, *, cut: bool) -> Verdict:
        rows = with_rows(row(TWICE.tries[0]), row(SAYS, stdout=stdout))
        record = Record(Counter({TWICE.name: 2}), Counter({TWICE.name: 2}))
        return judge(Book({1: order}), record, rows, excuses(cut=cut))

    for lacking in ("1\n2\n", "1\n3\n", ""):
        assert len(verdict(lacking, cut=False).loss) == 1
        assert (verdict(lacking, cut=True).loss, len(verdict(lacking, cut=True).cut)) == ([], 1)
    for other in ("2\n1\n", "1\n2\n3\n4\n", "1\n1\n", "x\n"):
        assert len(verdict(other, cut=True).loss) == 1


def test_an_attempt_that_has_not_ended_is_lost() -> None:
    still = row(SAYS, outcome="running", exit_code=None)
    assert judged(evidence=with_rows(row(TWICE.tries[0]), still)).loss


def test_a_row_of_what_never_ran_is_a_loss() -> None:
    assert judged(begun=1).loss == ["k1.1.1 has a row of a run that never was"]
    assert judged(ended=0).loss == ["k1.1.1 is called done and has not come to its end"]


def test_work_left_over_is_a_loss() -> None:
    assert judged(evidence=replace(RIGHT, left=("job 1 is still open",))).loss


def test_a_job_done_by_another_role_or_early_is_forged() -> None:
    planner = SimpleNamespace(id=1, queue="execution", owner="planner.7@here/ab", task_id=1)
    assert judged(evidence=replace(RIGHT, owners=(planner,))).forged
    assert judged(evidence=replace(RIGHT, early=(EARLY,))).forged


def test_an_unknown_end_counts_apart_and_needs_its_excuse() -> None:
    unknown = with_rows(row(TWICE.tries[0], outcome="unknown", exit_code=None))
    verdict = judged(begun=1, ended=0, evidence=unknown)
    assert (len(verdict.unknown), verdict.excused, verdict.clean) == (1, [], False)
    excused = judged(begun=1, ended=0, evidence=unknown, excused=True)
    assert (excused.unknown, len(excused.excused), excused.clean) == ([], 1, True)


def test_the_ledger_counts_both_marks(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.prepare()
    ledger.file.write_text("B a\nB b\nE a\nB b\n")
    record = ledger.read()
    assert record.begun == {"a": 1, "b": 2}
    assert record.ended == {"a": 1}
    assert record.unfinished == 2


OTHER = replace(ORDER, tag="k2", known=(Known("k2.1.1", 1, 1, (SAYS,)),))


def set_back(kept: dict[int, Order]) -> Book:
    """A book of two orders, of which the database knows only the first after a failover."""
    book = Book({1: ORDER, 2: OTHER})
    book.reconcile({1: ORDER.tag, 2: "another"}, kept)
    return book


def judged_after(book: Book, begun: int) -> Verdict:
    """The verdict when a command of the second order began so often."""
    record = Record(Counter({TWICE.name: 2, "k2.1.1": begun}), Counter({TWICE.name: 2}))
    return judge(book, record, RIGHT, NOTHING)


def test_what_a_failover_forgot_is_not_lost_and_must_not_run_twice() -> None:
    for begun in (0, 1):
        assert judged_after(set_back({1: ORDER}), begun).clean
    assert judged_after(set_back({1: ORDER}), 2).dup == ["k2.1.1 began 2 times, not 1"]


def test_what_a_failover_should_have_kept_is_lost() -> None:
    kept = {1: ORDER, 2: OTHER}
    assert judged_after(set_back(kept), 1).loss == ["k2 was committed and is gone"]


def asked(**other: Any) -> SimpleNamespace:
    """What an operator was asked about a pass that the database forgot."""
    values = {
        "task_id": 1,
        "closed_at": "now",
        "run": "abc",
        "step": 1,
        "revision": 0,
        "pass_no": 1,
        "claim": "c1",
    }
    return SimpleNamespace(**(values | other))


def test_every_pass_that_was_forgotten_is_named_and_no_other_is() -> None:
    record = Record(Counter({TWICE.name: 2}), Counter({TWICE.name: 2}))
    book = Book({1: ORDER}, claims={"c1"}, passes={PassOnHost("abc", 1, 0, 1)})

    def verdict(*rows: SimpleNamespace) -> Verdict:
        return judge(book, record, replace(RIGHT, asked=rows), NOTHING)

    assert verdict(asked()).clean
    assert len(verdict().loss) == 1
    assert len(verdict(asked(pass_no=2)).loss) == 1
    assert len(verdict(asked(), asked(claim="c2")).unknown) == 1


def test_a_task_that_waits_for_a_word_about_it_counts_apart() -> None:
    record = Record(Counter({TWICE.name: 1}), Counter())
    book = Book({1: replace(ORDER, phase=TaskPhase.DONE)}, claims={"c1"})
    waiting = replace(with_rows(row(TWICE.tries[0])), asked=(asked(closed_at=None),))
    verdict = judge(book, record, waiting, NOTHING)
    assert (verdict.clean, len(verdict.excused)) == (True, 1)
    assert not judge(book, record, replace(waiting, asked=(asked(),)), NOTHING).clean


def test_only_what_began_before_a_failover_may_be_older_than_its_job() -> None:
    book = Book({1: ORDER}, spans=[(90.0, 101.0)])
    record = Record(Counter({TWICE.name: 2}), Counter({TWICE.name: 2}))
    early = replace(RIGHT, early=(EARLY,))
    assert judge(book, record, early, NOTHING).clean
    book.spans = [(101.0, 109.0)]
    assert judge(book, record, early, NOTHING).forged
