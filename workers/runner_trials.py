"""Tries the runners of this machine with a scripted model: a few seconds, no network, no trace."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, Final
from uuid import uuid4

from shared.domain.attempt import AgentStatus
from shared.domain.runner_report import RunnerReport, RunnerState
from workers.agents.runners.port import (
    AgentOrder,
    AnsweredCall,
    GatewayAccess,
    Resumed,
    Runner,
    RunnerOutcome,
)
from workers.agents.runners.script import script
from workers.agents.runners.table import find_runner
from workers.agents.task_text import Assignment
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.script import parse_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.shells.remote.environment import local_environment

LONGEST: Final = 30.0
"""Seconds that one start of a runner may take."""

_QUESTION: Final = "Which one?"
_DONE: Final = {"status": "ok", "summary": "It works.", "decisions": [], "questions": []}
_ASKS: Final = _DONE | {
    "status": "needs_input",
    "summary": _QUESTION,
    "questions": [{"text": _QUESTION, "options": ["one", "two"]}],
}
_OPTIONS: Final = [{"label": label, "description": label} for label in ("one", "two")]
_ASK_TOOL: Final = {
    "questions": [
        {"question": _QUESTION, "header": "Which", "multiSelect": False, "options": _OPTIONS}
    ]
}
_IN_TEXT: Final = ([{"text": json.dumps(_ASKS)}], [{"text": json.dumps(_DONE)}])
_BY_TOOLS: Final = (
    [{"tool": "AskUserQuestion", "input": _ASK_TOOL}],
    [{"tool": "StructuredOutput", "input": _DONE}],
)
_NOWHERE: Final = "http://127.0.0.1:9"
_NO_NETWORK: Final = {
    **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), _NOWHERE),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
}
"""What is not on this machine is looked for where nothing answers."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A runner that may be on this machine; it asks in the first of `turns` and ends in the second.

    Without turns it is not tried. `command` starts a runner that is any program.
    """

    runner: str
    program: str
    tested: str
    turns: tuple[Any, ...] = ()
    command: str | None = None


CANDIDATES: Final = (
    Candidate("claude-code", "claude", "2.1.330", _BY_TOOLS),
    Candidate("codex", "codex", "0.169.0", _IN_TEXT),
    Candidate("acp", "opencode", "1.18.34", _IN_TEXT, "opencode acp --pure"),
    Candidate("mini-swe-agent", "mini", "2.4.6"),
)


def try_runners(
    candidates: Iterable[Candidate] = CANDIDATES, *, longest: float = LONGEST
) -> tuple[RunnerReport, ...]:
    """Try them all at a time, in homes and folders that are removed afterwards."""
    listed = tuple(candidates)
    cases = [{"when": _goal(each), "turns": list(each.turns)} for each in listed if each.turns]
    gateway = Gateway(ScriptedUpstream(parse_script({"cases": cases})), NoAccounts())
    with serving(gateway) as where, ThreadPoolExecutor(len(listed)) as pool:
        access = GatewayAccess(where.url, "trial")
        return tuple(pool.map(lambda each: _try(each, access, longest), listed))


def _goal(candidate: Candidate) -> str:
    return f"This is a trial of {candidate.runner} ({candidate.program})."


def _try(candidate: Candidate, access: GatewayAccess, longest: float) -> RunnerReport:
    report = RunnerReport(
        candidate.runner, candidate.program, candidate.tested, RunnerState.MISSING
    )
    path = shutil.which(candidate.program, path=local_environment()["PATH"])
    if path is None:
        return report
    report = replace(report, path=path, state=RunnerState.NOT_TRIED)
    if not candidate.turns:
        return report
    begun = monotonic()
    with tempfile.TemporaryDirectory(prefix="replan-trial-", ignore_cleanup_errors=True) as folder:
        trial = _Trial(candidate, access, Path(folder), longest)
        try:
            found = trial.carry_out(report)
        except subprocess.TimeoutExpired:
            told = f"it did not end in {longest:.0f} s"
            found = replace(report, state=RunnerState.SILENT, detail=told)
        except Exception as error:  # noqa: BLE001 - one odd runner must not cost the other reports
            found = replace(report, state=RunnerState.FAILS, detail=_reason(error))
    return replace(found, seconds=round(monotonic() - begun, 1))


@dataclass(frozen=True, slots=True)
class _Trial:
    candidate: Candidate
    access: GatewayAccess
    folder: Path
    longest: float

    def carry_out(self, report: RunnerReport) -> RunnerReport:
        """Have it ask, and have the same session go on with the answer."""
        workspace = self.folder / "workspace"
        subprocess.run(("git", "init", "-q", str(workspace)), check=True, capture_output=True)
        runner = find_runner(self.candidate.runner, self.candidate.command)
        order = AgentOrder(
            Assignment(_goal(self.candidate)),
            str(workspace),
            str(self.folder / "home"),
            str(uuid4()),
            self.access,
            interactive=True,
            variables=_NO_NETWORK,
        )
        asked = self._run(runner, order)
        report = replace(report, version=read_version(asked.version))
        if asked.status is not AgentStatus.NEEDS_INPUT or asked.question is None:
            return _failed(report, asked)
        answer = AnsweredCall(asked.question.call, asked.question.question.text, "one")
        done = self._run(runner, replace(order, resumed=Resumed(asked.session, (answer,))))
        if done.status is not AgentStatus.OK:
            return _failed(replace(report, defers=True), done)
        return replace(
            report,
            state=RunnerState.WORKS,
            defers=True,
            resumes=done.session == asked.session,
            schema=runner.capabilities.schema and done.structured is not None,
        )

    def _run(self, runner: Runner, order: AgentOrder) -> RunnerOutcome:
        invocation = runner.invocation(order)
        with subprocess.Popen(
            ("sh", "-c", script(invocation)),
            env=local_environment() | dict(invocation.secrets),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(timeout=self.longest)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        reader = runner.reader()
        reader.feed(out)
        return reader.outcome(process.returncode, None, err)


def _failed(report: RunnerReport, outcome: RunnerOutcome) -> RunnerReport:
    said = _line(outcome.detail or outcome.summary or outcome.reason.value)
    return replace(report, state=RunnerState.FAILS, detail=said)


def _reason(error: Exception) -> str:
    """What a trial failed with, on one line: what a program that it ran has said, if it is that."""
    said = ""
    if isinstance(error, subprocess.CalledProcessError):
        said = (error.stderr or b"").decode(errors="replace")
    return _line(said or str(error) or type(error).__name__)


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def read_version(said: str) -> str:
    """The version alone: agents of the Agent Client Protocol say their name before it."""
    words = said.split()
    return words[-1] if words else ""
