"""Describes the policy in force to a planner: what is denied, what runs, what needs approval."""

from collections.abc import Iterable

from shared.guard import CommandPolicy

_MOST = 12
"""How many entries of each kind are named; the rest are counted."""


def describe_policy(policy: CommandPolicy) -> str:
    """The policy in words. The same policy gives the same text, so that providers can cache it.

    A task's own forbidden commands are not part of it; they are told with the task.
    """
    parts = [
        "Denied: a step that contains one of these is stopped, and no person can let it run.",
        *_lines_by_reason((entry.reason, entry.entry) for entry in policy.forbidden),
        "",
        *_rest(policy),
    ]
    return "\n".join(parts)


def _rest(policy: CommandPolicy) -> list[str]:
    if policy.unlisted_allowed:
        return ["Everything else runs, unless nobody can tell what it would do."]
    places = ", ".join(policy.territory.write)
    return [
        "Runs by itself, with ordinary options and in ordinary places:",
        *_lines_by_reason((allowed.reason, allowed.run[0]) for allowed in policy.allowances),
        f"Ordinary places to write to: {places}.",
        "",
        "Everything else waits until a person has read and approved it, which may take hours: "
        "another program, an unusual option, a file elsewhere (under /etc too), a deleted tree, "
        "text in the language of an interpreter, a script that the plan itself has written, and "
        "all that cannot be told before it runs. Plan that only where nothing else serves, each "
        "such command in a subtask of its own, so that the rest need not wait.",
    ]


def _lines_by_reason(entries: Iterable[tuple[str, str]]) -> list[str]:
    by_reason: dict[str, dict[str, None]] = {}
    for reason, entry in entries:
        by_reason.setdefault(reason, {})[entry] = None
    return [
        f"- {reason or 'for a reason of this site'}: {_list_entries(list(found))}"
        for reason, found in by_reason.items()
    ]


def _list_entries(entries: list[str]) -> str:
    more = f" and {len(entries) - _MOST} like these" if len(entries) > _MOST else ""
    return ", ".join(f"`{entry}`" for entry in entries[:_MOST]) + more
