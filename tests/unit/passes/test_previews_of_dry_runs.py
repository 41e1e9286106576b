"""A dry run shows what each command would change that may run or that a person may allow."""

from shared.domain.config import Policy
from shared.domain.preview import ChangeKind, FileChange, Preview
from shared.secrets.masking import Masker
from tests.fakes.scripted_shell import ScriptedShell
from tests.unit.passes.given import MemoryLog, ScriptedJudge, order, subtask
from workers.passes.clock import SystemClock
from workers.passes.passes import carry_out
from workers.shells.door import PassJudge
from workers.shells.means import ShellMeans
from workers.shells.ports import Shell

SEEN = Preview((FileChange(ChangeKind.CREATED, "/srv/x"),), exit_code=0)


def test_what_may_run_is_previewed_and_what_is_denied_or_done_is_not() -> None:
    asked: list[str] = []

    def look(_: Shell, text: str) -> Preview:
        asked.append(text)
        return SEEN

    given = ("plain", "ask-first", "never", subtask("done", check="is-there"))
    log = MemoryLog()
    shell = ScriptedShell({"is-there": 0}, default=None)
    judge = PassJudge(ScriptedJudge(approve="^ask", deny="^never"), Masker())
    means = ShellMeans(shell, judge, log, SystemClock(), check_timeout=1, previews=look)

    carry_out(order(*given, policy=Policy(dry_run_mode=True)), means, log, SystemClock())

    assert asked == ["plain", "ask-first"]
    assert [attempt.preview for attempt in log.ended] == [SEEN, SEEN, None, None]
    assert shell.commands == ["is-there"]
