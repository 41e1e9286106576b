"""The runners of a machine in words."""

from collections.abc import Iterable, Iterator

from shared.domain.runner_report import RunnerReport, RunnerState

INSTALL = {
    "claude": "pip install claude-agent-sdk",
    "codex": "npm install -g @openai/codex",
    "opencode": "npm install -g opencode-ai",
    "mini": "pip install mini-swe-agent",
}
"""What installs each program."""


def describe_runner(report: RunnerReport) -> str:
    """A runner whose program is there: what it is, where, and what it can do."""
    head = f"{report.version} in {report.path}" if report.version else f"{report.path}"
    match report.state:
        case RunnerState.WORKS:
            told = f"{head} works: {', '.join(_abilities(report))} ({report.seconds:.1f} s)"
        case RunnerState.NOT_TRIED:
            told = f"{head} is there; it starts too slowly to be tried"
        case RunnerState.SILENT:
            told = f"{head}: {report.detail}; if this machine is busy, try again"
        case _:
            told = f"{head} fails: {report.detail}"
    if report.is_older:
        told += f"; it is older than {report.tested}, the oldest that is known to work"
    return told


def describe_missing(reports: Iterable[RunnerReport]) -> str:
    """Those whose program is not there, with what installs it, on one line."""
    listed = [f"{each.name} ({INSTALL[each.program]})" for each in reports]
    return f"not installed on this machine: {', '.join(listed)}"


def _abilities(report: RunnerReport) -> Iterator[str]:
    yield "asks a person" if report.defers else "cannot ask"
    yield "resumes with the answer" if report.resumes else "cannot resume"
    yield "keeps to the form of its answer" if report.schema else "has no form for its answer"
