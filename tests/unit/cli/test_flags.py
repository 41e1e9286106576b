"""Which commands show before they do (S2.65, X9), and which are limited to a session or a project.

The lists name every command: one that is added has to stand somewhere.
"""

from tests.unit.cli.test_commands import COMMANDS, words

SHOW_FIRST = {
    "plan build",
    "repair attempt",
    "repair worktree",
    "accept run",
    "checkpoint run",
    "store gc",
}
"""They repair, delete, integrate or publish: nothing happens without --apply."""

AT_ONCE = {"attempt run", "session open", "session close"}
"""They do what they are asked, and only show it with --dry-run."""

PREDICT = {"task submit"}
"""With --dry-run the commands of a task are predicted on its hosts, not carried out."""

AS_BEFORE = {"repo remove", "host remove", "token revoke", "fix retire"}
"""They take a name off a list and leave everything else as it is: a person can put it back."""

OF_PROJECT = {
    "watch",
    "task list",
    "plan build",
    "repair worktree",
    "session list",
    "delivery list",
}
OF_SESSION = {"watch", "plan build", "delivery list"}

_DOES = {"repair", "accept", "checkpoint"}
_VERBS = {"gc", "remove", "revoke", "retire", "build"}


def options(path: tuple[str, ...], name: str) -> bool | None:
    """The default of a switch of a command; None if it does not have it."""
    for param in COMMANDS[path].params:
        if name in {*param.opts, *param.secondary_opts}:
            return bool(param.default)
    return None


def having(name: str) -> set[str]:
    """The commands with that option."""
    return {words(path) for path in COMMANDS if options(path, name) is not None}


def test_what_repairs_deletes_integrates_or_publishes_shows_first() -> None:
    does = {
        words(path)
        for path in COMMANDS
        if (path[0] in _DOES and path[-1] not in {"list", "show"}) or path[-1] in _VERBS
    }
    assert does == SHOW_FIRST | AS_BEFORE


def test_nothing_happens_before_apply() -> None:
    assert having("--apply") == SHOW_FIRST | AT_ONCE
    assert having("--dry-run") == SHOW_FIRST | AT_ONCE | PREDICT
    for path in COMMANDS:
        if words(path) in SHOW_FIRST:
            assert options(path, "--apply") is False, words(path)
        if words(path) in AT_ONCE:
            assert options(path, "--apply") is True, words(path)


def test_what_lists_work_can_be_limited_to_a_project_or_a_session() -> None:
    assert having("--project") - {"demo"} == OF_PROJECT
    assert having("--session") == OF_SESSION
