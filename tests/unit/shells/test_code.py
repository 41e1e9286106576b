"""What a pass promises about snippets of code."""

from shared.domain.plan import SubtaskKind
from tests.fakes.scripted_shell import Answer, ScriptedShell
from tests.unit.passes.given import carried_out, order, subtask


def test_a_snippet_reaches_the_host_as_python_and_is_judged_as_it_reaches_it() -> None:
    """S1.25: what is recorded, judged and run are the same bytes; no rule changes them."""
    shell = ScriptedShell(default=Answer(127, stderr="sh: 1: python3: not found"))
    done = carried_out(order(subtask("result = 1", kind=SubtaskKind.CODE)), shell)
    assert len(shell.commands) == 1
    assert shell.commands[0].startswith(
        "ulimit -t 300; ulimit -v 1048576; python3 -I -c 'result = 1\n"
    )
    assert [a.command for a in done.attempts] == shell.commands == done.judge.judged
