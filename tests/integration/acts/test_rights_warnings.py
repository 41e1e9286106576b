"""What needs root is told before anything runs on a host whose check has found no way to it."""

from orchestrator.access.roles import AccessRole
from orchestrator.acts import tasks
from orchestrator.acts.plan_text import PlanText
from orchestrator.acts.tasks import TaskRequest
from shared.domain.host import Host, SudoFound
from shared.store import hosts
from shared.store.database import Database
from tests.integration.acts.conftest import CallerWith

PLAN = PlanText(
    "steps:\n"
    "  - {title: Look, subtasks: [{run: ls}]}\n"
    "  - {title: Install, subtasks: [{run: ls}, {run: sudo apt-get update}, {run: sudo ls}]}\n"
    "  - {title: Start, subtasks: [{run: apt update}, {run: systemctl --user start app}]}\n",
    "plans/install.yaml",
)
FOUND = {
    "absent": SudoFound.ABSENT,
    "refused": SudoFound.NO,
    "usable": SudoFound.YES,
    "root": SudoFound.ROOT,
    "unseen": None,
}


def test_a_plan_that_needs_sudo_is_told_where_there_is_none(
    database: Database, caller_with: CallerWith
) -> None:
    """In a dry run, too; of a host that nobody has checked since, nothing is said."""
    with database.begin() as connection:
        for name, found in FOUND.items():
            hosts.save(connection, Host(name, host_key="ssh-ed25519 AAAA"))
            hosts.keep_sudo(connection, name, found)
    request = TaskRequest("install", tuple(FOUND), ("dry_run_mode=true",), PLAN)
    done = tasks.submit(caller_with(AccessRole.OPERATOR), request)
    warned = {(each.host, each.asking): each for each in done.value.rights}
    asking = [host for host, asks in warned if asks]
    assert (asking, [host for host, asks in warned if not asks]) == (
        ["absent", "refused"],
        ["absent", "refused", "usable"],
    )
    first = warned["absent", True]
    assert (first.found, first.step, first.subtask, first.texts) == (SudoFound.ABSENT, 2, 2, 2)
    assert [(w.step, w.subtask, w.texts) for key, w in warned.items() if not key[1]] == [
        (3, 1, 1)
    ] * 3
    told = " ".join(note.reason for note in done.notes)
    assert "will fail on absent: its last check found that there is no sudo" in told
    assert "will fail on usable: it needs root, and the account may use sudo" in told
