"""Printing one attempt in full."""

from datetime import UTC, datetime

from rich.console import Console

from orchestrator.cli.agent_text import show_notes, show_result, show_transcript, show_work
from orchestrator.cli.intervention_text import show_preview
from orchestrator.cli.tables import in_colour, moment, plain, span
from orchestrator.views.attempts import AttemptView
from orchestrator.words.quantities import clock
from orchestrator.words.workers import name_worker
from shared.domain.attempt import describe_left
from shared.domain.outcome import Outcome

_REFUSED = (Outcome.DENIED, Outcome.NEEDS_APPROVAL)


def show_attempt(console: Console, view: AttemptView, *, full: bool, raw: bool) -> None:
    """Print what it is, how it came to run, how it went, and what it has written.

    With `full` all that an agent said and did, with `raw` the lines of its program instead.
    """
    attempt = view.attempt
    told = plain(attempt.reason or view.title)
    console.print(f"[bold]{attempt.ref}[/] {in_colour(attempt.outcome)} {told}")
    mark = "$" if view.work is None else "goal:"
    console.print(f"{mark} {plain(attempt.command)}", highlight=False)
    show_work(console, view.work)
    _show_grounds(console, view)
    show_notes(console, attempt.notes)
    show_result(console, view.result, attempt.agent)
    if attempt.running:
        _show_progress(console, view)
    else:
        _show_end(console, view)
    if view.base_sha is not None:
        console.print(f"  from commit {view.base_sha[:12]}", highlight=False)
    _show_output(console, view, full=full, raw=raw)


def _show_grounds(console: Console, view: AttemptView) -> None:
    """What it belongs to, what let it run, and what was seen before."""
    attempt = view.attempt
    if attempt.reason and view.title:
        console.print(f"  {plain(view.title)}", highlight=False)
    if attempt.look:
        console.print(f"  a look of its planner, revision {attempt.revision}")
    if attempt.rollback:
        console.print(f"  a rollback of revision {attempt.revision}, pass {attempt.pass_no}")
    if attempt.correction:
        console.print(f"  corrected by {plain(attempt.correction)}")
    if view.rule and attempt.outcome not in _REFUSED:
        console.print(f"  let run by the rule {plain(view.rule)}", highlight=False)
    show_preview(console, attempt.preview)


def _show_progress(console: Console, view: AttemptView) -> None:
    began = view.attempt.started_at
    passed = max((datetime.now(UTC) - began).total_seconds(), 0)
    limit = "" if view.timeout is None else f", of {span(view.timeout)} at most"
    console.print(f"  since {moment(began)}: {span(passed)}{limit}", highlight=False)
    heard = "" if view.heartbeat_at is None else f", heard of at {clock(view.heartbeat_at)}"
    console.print(f"  by {plain(name_worker(view.worker))}{heard}", highlight=False)


def _show_end(console: Console, view: AttemptView) -> None:
    attempt = view.attempt
    exited = "no exit code" if attempt.exit_code is None else f"exit code {attempt.exit_code}"
    exited = exited if view.result is None else f"it says {view.result.status.value}"
    console.print(f"  {exited}, {span(attempt.seconds)}, by {plain(name_worker(view.worker))}")
    left = describe_left(attempt.left_over, attempt.ended_by)
    if left:
        console.print(f"  {plain(left)}", highlight=False)
    console.print(f"  {moment(attempt.started_at)} – {moment(attempt.ended_at)}")


def _show_output(console: Console, view: AttemptView, *, full: bool, raw: bool) -> None:
    read = None if raw else view.transcript
    if read is not None:
        console.print("[dim]── what it said and did (--raw: as its program wrote it)[/]")
        show_transcript(console, read, whole=full)
    streams = (("stdout", view.stdout), ("stderr", view.stderr))
    for name, text in streams if read is None else streams[1:]:
        if text:
            console.print(f"[dim]── {name}[/]")
            console.print(plain(text.rstrip("\n")), highlight=False)
    if view.check_command:
        console.print(f"[dim]── check (exit code {view.attempt.check_exit_code})[/]")
        console.print(f"$ {plain(view.check_command)}", highlight=False)
        console.print(plain(view.check_output.rstrip("\n")), highlight=False)
