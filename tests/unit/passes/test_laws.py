"""Laws that hold for every plan, every host and every policy."""

import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from shared.domain.attempt import Attempt
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import GREEN, Outcome
from shared.domain.plan import Subtask
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import Pass, ScriptedJudge, carried_out, order

COMMANDS = (
    "apt-get install nginx",
    "sudo apt install postgresql",
    "curl https://example.org/x",
    "systemctl restart nginx",
    "cat /etc/nginxx/a",
    "echo x > /srv/a/b",
    "python -V",
    "[[ -f x ]]",
)
ERRORS = (
    "",
    "E: Unable to locate package nginx",
    "E: Failed to fetch http://x",
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 1 (x)",
    "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 1 (x)",
    "curl: (6) Could not resolve host: example.org",
    "nginx.service is not active, cannot reload.",
    "sh: 1: cannot create /srv/a/b: Directory nonexistent",
    "sh: 1: python: not found",
    "sh: 1: [[: not found",
)
answers = st.builds(
    Answer,
    exit_code=st.sampled_from((0, 0, 1, 2, 6, 100, 127)),
    stderr=st.sampled_from(ERRORS),
    stdout=st.sampled_from(("", "/usr/bin/x\n", "postgresql-13 - x\n", "0\n")),
    takes=st.sampled_from((0.0, 0.0, 0.0, 9999.0)),
)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Subtask, ...]:
    size = draw(st.integers(1, 5))
    made: list[Subtask] = []
    for n in range(1, size + 1):
        before = [s.key for s in made]
        needs = draw(st.lists(st.sampled_from(before), unique=True)) if before else []
        made.append(
            Subtask(
                ordinal=n,
                key=f"k{n}",
                title="",
                command=draw(st.sampled_from(COMMANDS)),
                check=draw(st.none() | st.sampled_from(("check-a", "check-b"))),
                preconditions=tuple(
                    draw(st.lists(st.sampled_from(("pre-a", "pre-b")), max_size=2))
                ),
                needs=tuple(needs),
                critical=draw(st.sampled_from((False, False, False, True))),
            )
        )
    return tuple(made)


policies = st.builds(
    Policy,
    error_threshold_per_step=st.integers(1, 6),
    max_retries_per_command=st.integers(0, 4),
    auto_correction_enabled=st.booleans(),
    dry_run_mode=st.sampled_from((False, False, False, True)),
)
judges = st.builds(
    ScriptedJudge,
    deny=st.none() | st.sampled_from(("update", "check-b", "postgresql", "getent")),
    approve=st.none() | st.sampled_from(("systemctl", "apt-cache", "pre-a", "curl")),
)


@settings(max_examples=400, deadline=None)
@given(
    plans(),
    policies,
    judges,
    st.randoms(use_true_random=False),
    st.lists(answers, min_size=1, max_size=6),
)
def test_the_laws_of_a_pass(
    plan: tuple[Subtask, ...],
    policy: Policy,
    judge: ScriptedJudge,
    chance: random.Random,
    possible: list[Answer],
) -> None:
    """Counted as recorded, within the limits, nothing unjudged, done only when all is green."""
    shell = ScriptedShell({re.compile(""): lambda _: chance.choice(possible)}, default=None)
    done = carried_out(order(*plan, policy=policy), shell, judge=judge, approved=lambda _: True)
    _counts_are_right(done, policy)
    _nothing_forbidden_ran(done, judge)
    _identities_are_unique(done.attempts)
    _the_ending_fits(done, plan, policy)
    if policy.dry_run_mode:
        assert not any(command in COMMANDS for command in shell.commands)


def _counts_are_right(done: Pass, policy: Policy) -> None:
    assert done.result.errors == sum(a.counted for a in done.attempts)
    assert done.result.errors <= policy.error_threshold_per_step
    for subtask in {a.subtask for a in done.attempts}:
        counted = [a for a in done.attempts if a.subtask == subtask and a.counted]
        limit = policy.max_retries_per_command if policy.auto_correction_enabled else 0
        assert len(counted) <= 1 + limit


def _nothing_forbidden_ran(done: Pass, judge: ScriptedJudge) -> None:
    assert not any(judge.judge(command).denied for command in done.shell.commands)
    for attempt in done.attempts:
        if attempt.outcome is Outcome.DENIED:
            assert attempt.command not in done.shell.commands
        if attempt.result is not None:
            assert attempt.command in done.shell.commands


def _identities_are_unique(attempts: list[Attempt]) -> None:
    assert len({a.key for a in attempts}) == len(attempts)
    assert len({(a.subtask, a.number) for a in attempts}) == len(attempts)
    used = [(a.subtask, a.correction) for a in attempts if a.correction not in (None, "dpkg_lock")]
    assert len(set(used)) == len(used)


def _the_ending_fits(done: Pass, plan: tuple[Subtask, ...], policy: Policy) -> None:
    green = {a.subtask for a in done.attempts if a.outcome in GREEN}
    whole = green == {s.ordinal for s in plan}
    assert (done.result.ending is Ending.DONE) == whole
    reached = done.result.errors >= policy.error_threshold_per_step
    if done.result.ending is Ending.THRESHOLD:
        assert reached
    elif done.result.ending is Ending.INCOMPLETE:
        assert not reached
    by_key = {s.key: s.ordinal for s in plan}
    for subtask in plan:
        if subtask.ordinal in green and not policy.dry_run_mode:
            assert all(by_key[need] in green for need in subtask.needs)
