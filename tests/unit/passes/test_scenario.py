"""The worked scenario of section 10, from the first failure to the revised plan's success."""

import re

from shared.domain.attempt import CommandResult
from shared.domain.budget import Ending
from shared.domain.config import Policy
from shared.domain.outcome import Outcome
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import carried_out, order, subtask
from workers.evidence.failed_assumptions import failed_assumptions
from workers.evidence.hypotheses import hypotheses
from workers.shells.corrections.table import TESTED

ABSENT = Answer(100, stderr="E: Unable to locate package postgresql")
STILL_ABSENT = Answer(100, stderr="E: Unable to locate package postgresql-13")
NO_UNIT = Answer(1, stderr="Failed to enable unit: Unit file postgresql.service does not exist.")

INSTALL_POSTGRESQL = (
    subtask("apt update", "A"),
    subtask("apt install postgresql", "B", needs=("A",)),
    subtask("systemctl enable postgresql", "C", needs=()),
    subtask("systemctl start postgresql", "D", needs=("C",)),
)
"""C is tried although B fails: its needs say so (X3)."""


def host_without_the_repository() -> ScriptedShell:
    return ScriptedShell(
        {
            "apt update": "All packages are up to date.",
            "apt install postgresql": ABSENT,
            "apt update; apt install --fix-missing postgresql": ABSENT,
            "apt-cache search --names-only postgresql": (
                "postgresql-13 - The World's Most Advanced Open Source Relational Database\n"
            ),
            "apt install --fix-missing postgresql-13": STILL_ABSENT,
            "systemctl enable postgresql": NO_UNIT,
        },
        default=None,
    )


def test_the_fourth_failed_attempt_reaches_the_threshold() -> None:
    """S0.89–S0.91: A ok, B fails three times, another subtask's failure is the fourth error."""
    shell = host_without_the_repository()
    done = carried_out(order(*INSTALL_POSTGRESQL, policy=Policy()), shell)

    assert shell.commands == [
        "apt update",
        "apt install postgresql",
        "apt update; apt install --fix-missing postgresql",
        "apt-cache search --names-only postgresql",
        "apt install --fix-missing postgresql-13",
        "systemctl enable postgresql",
    ]
    told = [(a.subtask, a.outcome, a.correction, a.number, a.try_no) for a in done.attempts]
    assert told == [
        (1, Outcome.OK, None, 1, 0),
        (2, Outcome.FAILED, None, 1, 0),
        (2, Outcome.FAILED, "apt_update_fix_missing", 2, 1),
        (2, Outcome.FAILED, "apt_other_package", 3, 2),
        (3, Outcome.FAILED, None, 1, 0),
    ]
    assert sum(a.counted for a in done.attempts if a.subtask <= 2) == 3
    assert done.result.ending is Ending.THRESHOLD
    assert done.result.errors == 4
    assert [r.exit_code for a in done.attempts if isinstance(r := a.result, CommandResult)] == [
        0,
        100,
        100,
        100,
        1,
    ]


def test_the_planner_sees_what_was_tested_and_that_the_package_is_absent() -> None:
    """S0.92: the evidence names the hypotheses tested and the assumption that failed."""
    done = carried_out(order(*INSTALL_POSTGRESQL), host_without_the_repository())
    assert hypotheses(done.attempts, TESTED) == (
        (
            "subtask 2: ran the command as planned: exit code 100"
            " (E: Unable to locate package postgresql)"
        ),
        (
            "subtask 2: updated the package lists (apt update) and installed with --fix-missing:"
            " exit code 100 (E: Unable to locate package postgresql)"
        ),
        (
            "subtask 2: tried another package name that the host's index knows: exit code 100"
            " (E: Unable to locate package postgresql-13)"
        ),
        (
            "subtask 3: ran the command as planned: exit code 1"
            " (Failed to enable unit: Unit file postgresql.service does not exist.)"
        ),
    )
    assert failed_assumptions(done.attempts) == (
        "subtask 2: the package postgresql is absent from the host's repositories",
        "subtask 2: the package postgresql-13 is absent from the host's repositories",
        "subtask 3: systemd knows the unit postgresql.service",
    )


def test_the_revised_plan_succeeds_with_a_count_of_its_own() -> None:
    """S0.93, S0.58: the next revision starts at 0 errors; its attempts are numbered on."""
    first = carried_out(order(*INSTALL_POSTGRESQL), host_without_the_repository())
    revised = order(
        "curl -fsSLo /etc/apt/keyrings/pgdg.asc https://www.postgresql.org/media/keys/ACCC4CF8.asc",
        "cp pgdg.list /etc/apt/sources.list.d/pgdg.list",
        "apt update",
        subtask("apt install -y postgresql-13", "s4", check="pg_isready", needs=("s3",)),
        revision=1,
        pass_no=2,
        earlier=first.attempts,
    )
    shell = ScriptedShell({re.compile("pg_isready"): [2, 0]})
    done = carried_out(revised, shell)

    assert done.result.ending is Ending.DONE
    assert done.result.errors == 0
    assert [a.outcome for a in done.attempts] == [Outcome.OK] * 4
    assert [a.number for a in done.attempts] == [2, 4, 2, 1]
    assert [a.try_no for a in done.attempts] == [0, 0, 0, 0]
    assert done.attempts[1].key == "R7-1-r1-2-p2-t0"
