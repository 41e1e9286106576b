"""Builds the inputs of the fix memory's tests: steps, failures and bundles."""

from collections.abc import Sequence
from typing import Any

from shared.domain.bundle import Bundle, LoggedAttempt, LoggedSubtask
from shared.domain.fix import FailurePattern
from shared.domain.plan import Subtask

DEBIAN = {
    "os": 'Linux NODE 6.1.0 x86_64\nPRETTY_NAME="Debian"\nID=debian\nVERSION_ID="12"\n',
    "platform": "/usr/bin/apt-get\n/run/systemd/system",
}


def subtasks(*said: str | dict[str, Any]) -> tuple[Subtask, ...]:
    """Subtasks of commands (or of more than that), each needing the one before it."""
    listed: list[Subtask] = []
    for number, each in enumerate(said, 1):
        fields: dict[str, Any] = {"command": each} if isinstance(each, str) else dict(each)
        before = (listed[-1].key,) if listed else ()
        fields = {"key": f"s{number}", "title": fields["command"], "needs": before} | fields
        fields["preconditions"] = tuple(fields.get("preconditions", ()))
        fields["needs"] = tuple(fields["needs"])
        listed.append(Subtask(ordinal=number, **fields))
    return tuple(listed)


def commands(listed: Sequence[Subtask] | None) -> list[str] | None:
    """The commands alone."""
    return None if listed is None else [subtask.command for subtask in listed]


def failure(*failed: int, hosts: Sequence[str] = ("web1",)) -> FailurePattern:
    """A failure of those subtasks on a host of that name."""
    return FailurePattern("s", "debian 12, apt-get, systemd", ("t",), failed, tuple(hosts))


def bundle(*failed: dict[str, Any], host: str = "web1", **snapshot: str) -> Bundle:
    """The evidence of a step whose subtasks have all failed as described."""
    attempts: list[LoggedAttempt] = []
    listed: list[LoggedSubtask] = []
    for number, said in enumerate(failed, 1):
        fields: dict[str, Any] = {
            "exit_code": 1,
            "stdout": "",
            "stderr": "",
            "outcome": "failed",
        } | said
        check = fields.pop("check", None)
        listed.append(
            LoggedSubtask(
                number, str(number), "t", fields["command"], check, 60.0, (), (), "failed"
            )
        )
        attempts.append(
            LoggedAttempt(
                ref=f"T1.1.{number}#1@{host}",
                subtask=number,
                retry_count=0,
                started_at="",
                ended_at="",
                check_command=check,
                **fields,
            )
        )
    shown = {name: text.replace("NODE", host) for name, text in (DEBIAN | snapshot).items()}
    return Bundle(
        task_ref="T1",
        prompt="p",
        improved_prompt=None,
        target=host,
        step_ref=f"T1.1@{host}",
        step_title="t",
        step_instruction="",
        revision=0,
        reason="",
        subtasks=tuple(listed),
        attempts=tuple(attempts),
        snapshot=shown,
    )
