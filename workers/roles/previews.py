"""Previews of commands: for the people who are asked to approve them, and for those who ask."""

from collections.abc import Collection, Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any

from shared.domain.approval import SubtaskPart
from shared.domain.errors import Rejected
from shared.domain.host import Host
from shared.domain.next_step import NextStep
from shared.domain.preview import Preview, Unseen, UnseenKind
from shared.guard import Guard, load_site
from shared.guard.display_safety import objection
from shared.guard.guard import read
from shared.guard.policy.territory import Territory
from shared.guard.shell.parse import installed_shfmt
from shared.guard.words import Run
from shared.secrets.expansion import to_environment
from shared.secrets.masking import Masker
from shared.settings import ServerSettings
from shared.wire import from_json, to_json
from workers.passes.ports import Unapproved
from workers.secrets import Secrecy
from workers.shells.ports import Shell
from workers.shells.preview import Reading, Wanted, preview
from workers.shells.remote.connections import HostConnections

AT_MOST = 5
"""Previews for one question."""

_READS_WHAT_IT_NAMES = frozenset(
    {
        *("", "sudo", "sed", "cp", "mv", "tee", "echo", "printf", "install", "mkdir", "rmdir"),
        *("rm", "touch", "chmod", "chown", "chgrp", "ln", "cat", "grep", "truncate", "sort"),
        *("head", "tail", "cut", "tr", "uniq", "wc", "true", "false", "test", "[", ":", "cd"),
        *("systemctl", "nginx", "visudo", "patch", "mktemp", "date", "id", "hostname", "unlink"),
        *("kill", "pkill", "killall", "sleep", "ls", "stat", "basename", "dirname", "logrotate"),
    }
)
"""Programs that bring no content into a file but that of files that they name."""


def reading_of(guard: Guard, text: str) -> Reading:
    """What the guard reads in a text. Never raises for a text."""
    if objection(text):
        return Reading(None, contents=False)
    try:
        findings = read(installed_shfmt(), text, "sh", None)
    except Exception:  # noqa: BLE001 - a text that cannot be read may do anything
        return Reading(None, contents=False)
    runs = findings.runs
    names = {run.program for run in runs}
    named = all(not run.argv or run.program for run in runs)
    known = None if findings.doubts or not named else names - {""}
    private = any(_may_read_secrets(run, guard.policy.territory) for run in runs)
    harmless = names <= _READS_WHAT_IT_NAMES
    return Reading(known, contents=known is not None and harmless and not private)


def _may_read_secrets(run: Run, territory: Territory) -> bool:
    words = (*run.argv[1:], *run.reads)
    return any(territory.secret_in(word, run.directories) is not None for word in words)


def preview_with(guard: Guard, masker: Masker, shell: Shell, text: str) -> Preview:
    """What a command would change on the host of the shell; never raises."""
    return preview(shell, Wanted(text), partial(reading_of, guard), masker)


def previews_of(
    shell: Shell,
    asked: Iterable[Unapproved],
    guard: Guard,
    masker: Masker,
    *,
    goals: Collection[int] = (),
) -> Mapping[Unapproved, Preview]:
    """What each text that a person is asked about would change; never raises.

    The commands of the subtasks with these numbers are `goals` of agents, which no shell reads.
    """
    found: dict[Unapproved, Preview] = {}
    for each in asked:
        if each.subtask in goals and each.part is SubtaskPart.COMMAND:
            continue
        if len(found) == AT_MOST:
            break
        seen = preview_with(guard, masker, shell, each.text)
        found[each] = _after_others(seen) if found else seen
    return found


def _after_others(seen: Preview) -> Preview:
    if seen.none is not None:
        return seen
    return replace(seen, unseen=(*seen.unseen, Unseen(UnseenKind.EARLIER)))


def answer_preview(
    given: dict[str, Any], secrecy: Secrecy, server: ServerSettings
) -> dict[str, Any]:
    """The preview of a command on a host, for `python -m workers preview`.

    Raises Rejected for a forbidden command, and what a connection raises.
    """
    host = from_json(Host, given["host"])
    command, _ = to_environment(given["command"])
    guard = Guard(load_site(server.guard_policy).for_host(host.name, given["forbidden"]))
    verdict = guard.judge(command)
    if verdict.denied:
        raise Rejected(
            f"a forbidden command is not previewed: {verdict.reason} (rule {verdict.rule})",
            stage="guard",
            next_step=NextStep.of("guard check", given["command"], host=host.name),
        )
    masker = secrecy.secrets_for().masker
    with (
        closing(HostConnections(secrecy.reveal)) as connections,
        closing(connections.shell(host, masker=masker)) as shell,
    ):
        seen = preview(shell, Wanted(command), partial(reading_of, guard), masker)
    return {"ok": seen.none is None, "preview": to_json(seen)}
