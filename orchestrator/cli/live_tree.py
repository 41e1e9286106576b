"""The live view of a task as a tree, no larger than the terminal.

It is a pure function of what is known and of the space there is. What runs always stays; the rest
gives way in the order of `_DETAILS`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from rich.text import Text

from orchestrator.cli.live_rows import Page, Row, Sign
from orchestrator.cli.tables import COLOURS, span
from orchestrator.views.failures import Failure
from orchestrator.views.interventions import InterventionView
from orchestrator.views.live import LiveTask, RunningAttempt
from orchestrator.views.steps import StepLine
from orchestrator.views.tasks import RunView
from orchestrator.words import live as words
from orchestrator.words.agents import spent
from orchestrator.words.failures import cause, ending, why_it_waits
from orchestrator.words.postponed import describe as describe_postponed
from orchestrator.words.quantities import brief, count_of
from shared.domain.jobs import JobKind
from shared.domain.task import RunPhase, StepPhase

_DONE = frozenset({StepPhase.DONE, StepPhase.ACCEPTED})
_WORKING = frozenset(
    {
        StepPhase.DETAILING,
        StepPhase.READY,
        StepPhase.RUNNING,
        StepPhase.REPLANNING,
        StepPhase.ACCEPTING,
    }
)
_STOPPED = frozenset({StepPhase.WAITING, StepPhase.BLOCKED, StepPhase.ERROR})
_LEFT_OUT = frozenset({StepPhase.SKIPPED, StepPhase.CANCELLED})
_SPARE_PROMPT = 60


@dataclass(frozen=True, slots=True)
class _Detail:
    """How much is shown: lines of output, a line for each step that is done, and failures."""

    output: int
    done: bool
    failures: int


_DETAILS = (
    *(_Detail(lines, True, 99) for lines in (8, 5, 3)),
    *(_Detail(lines, False, 99) for lines in (5, 3, 2, 1)),
    _Detail(1, False, 2),
    _Detail(0, False, 2),
    _Detail(0, False, 1),
)


def draw(live: LiveTask, page: Page) -> list[Text]:
    """The lines of the view: at most the height of the page, each at most its width.

    Each attempt, step or planner at work has a line of its own if the page has as many lines.
    """
    tree = _Tree(live)
    for detail in _DETAILS:
        rows = [*tree.rows(detail)]
        if len(rows) <= page.height:
            break
    else:
        rows = tree.shortest(page.height)
    return [row.fit(page) for row in rows]


@dataclass(frozen=True)
class _Tree:
    live: LiveTask

    def rows(self, detail: _Detail) -> Iterator[Row]:
        """The whole tree, in that detail."""
        task = self.live.task
        yield self._head()
        yield from self._planners()
        yield from self._asks()
        several = len(task.runs) > 1
        idle = 0
        for run in task.runs:
            if several and run.phase is RunPhase.NOT_STARTED and not self._at_work(run):
                idle += 1
            elif several and run.phase is RunPhase.DONE:
                if detail.done:
                    yield _done_run(run)
            elif several:
                yield _run_head(run)
                yield from self._steps(run, detail, 1)
            else:
                yield from self._steps(run, detail, 0)
        done = sum(run.phase is RunPhase.DONE for run in task.runs)
        if several and done and not detail.done:
            yield Row(f"{count_of(done, 'target')} done", Sign.DONE, "green", "dim")
        if idle:
            yield Row(f"{count_of(idle, 'target')} to come", Sign.FOLDED, "dim", "dim")

    def shortest(self, height: int) -> list[Row]:
        """What runs, then what failed or waits, as far as there is room."""
        working = [*self._planners(), *self._all_at_work()]
        if len(working) > height:
            more = len(working) - height + 1
            return [*working[: height - 1], Row(f"and {more} more at work", Sign.FOLDED, "cyan")]
        stopped = [*self._asks(), *self._all_troubled()]
        room = height - len(working) - 1
        if room < 0:
            return working
        if len(stopped) > room:
            more = len(stopped) - room + 1
            rest = [Row(f"and {more} more that failed or wait", Sign.FAILED, "red")] if room else []
            stopped = [*stopped[: max(0, room - 1)], *rest]
        return [self._head(), *working, *stopped]

    def _head(self) -> Row:
        task = self.live.task
        steps = [step for run in task.runs for step in run.steps]
        steps = [step for step in steps if step.phase is not StepPhase.REPLACED]
        done = sum(step.phase in _DONE for step in steps)
        errors = sum(step.errors for step in steps)
        told = f"{done} of {count_of(len(steps), 'step')} done" if steps else ""
        failed = count_of(errors, "error") if errors else ""
        elapsed = span(((task.ended_at or task.now) - task.created_at).total_seconds())
        on = f" on {task.runs[0].target}" if len(task.runs) == 1 else ""
        return Row(
            f"{task.ref} {task.phase.replace('_', ' ')}{on}",
            title_style=f"bold {COLOURS.get(task.phase, '')}".strip(),
            beside=brief(task.prompt, _SPARE_PROMPT),
            right=", ".join(filter(None, (told, failed, elapsed))),
        )

    def _planners(self) -> Iterator[Row]:
        """What is done for the task as a whole: planning it, and looking at hosts before."""
        now = self.live.task.now
        for job in self.live.jobs:
            if job.ref.step is None and job.kind is not JobKind.EXECUTE:
                told = words.describe_job(job, now)
                on = f" ({job.ref.target})" if job.ref.target else ""
                since = span((now - job.since).total_seconds())
                yield Row(f"{told}{on}", Sign.AT_WORK, "yellow", right=since)
        for running in self.live.running:
            if running.attempt.ref.step is None:
                yield self._attempt(running)

    def _asks(self) -> Iterator[Row]:
        """What waits for a person or a provider before there are steps."""
        for waits in self.live.task.interventions:
            if waits.ref.step is None or waits.ref.target is None:
                yield _waiting(waits)
        for each in self.live.task.put_off:
            yield Row(f"{each.ref} {describe_postponed(each)}", Sign.ASKS, "yellow")

    def _at_work(self, run: RunView) -> bool:
        return any(step.phase in _WORKING for step in run.steps)

    def _steps(self, run: RunView, detail: _Detail, depth: int) -> Iterator[Row]:
        done = [step for step in run.steps if step.phase in _DONE]
        left_out = [step for step in run.steps if step.phase in _LEFT_OUT]
        to_come = [step for step in run.steps if step.phase is StepPhase.NOT_STARTED]
        if done and not detail.done:
            yield Row(f"{count_of(len(done), 'step')} done", Sign.DONE, "green", "dim", depth=depth)
        for step in run.steps:
            if step.phase in _DONE and detail.done:
                took = self._took(step)
                yield Row(
                    f"{step.ordinal} {step.title}", Sign.DONE, "green", right=took, depth=depth
                )
            elif step.phase in _STOPPED:
                yield from self._stopped(step, detail, depth)
            elif step.phase in _WORKING:
                yield from self._working(step, detail, depth)
        if left_out:
            told = f"{count_of(len(left_out), 'step')} skipped"
            yield Row(told, Sign.LEFT_OUT, "dim", "dim", depth=depth)
        if to_come:
            told = f"{count_of(len(to_come), 'step')} to come"
            yield Row(told, Sign.FOLDED, "dim", "dim", depth=depth)

    def _working(self, step: StepLine, detail: _Detail, depth: int) -> Iterator[Row]:
        yield replace(self._step_at_work(step), depth=depth)
        yield from self._failures(step, detail, depth + 1)
        for running in self._running_in(step):
            yield replace(self._attempt(running), depth=depth + 1)
            for line in words.last_lines(running.output, detail.output):
                yield Row(line, Sign.OUTPUT, "dim", "dim", depth=depth + 2)

    def _stopped(self, step: StepLine, detail: _Detail, depth: int) -> Iterator[Row]:
        waits = self._asked(step)
        yield replace(self._stopped_step(step), depth=depth)
        failures = self._failed(step)
        if waits is not None and not (failures and waits.failure):
            told = " ".join(why_it_waits(waits).split())
            yield Row(told, Sign.ASKS, "yellow", depth=depth + 1)
        elif not failures and step.reason:
            yield Row(step.reason, Sign.FAILED, "red", depth=depth + 1)
        yield from self._failures(step, detail, depth + 1)

    def _stopped_step(self, step: StepLine) -> Row:
        waits = self._asked(step)
        asks = step.phase is StepPhase.WAITING
        told = "" if waits is None else f"{waits.name} waits for you"
        right = ", ".join(filter(None, (words.count_errors(step), told)))
        sign, style = (Sign.ASKS, "yellow") if asks else (Sign.FAILED, "red")
        return Row(f"{step.ordinal} {step.title}", sign, style, style, right=right)

    def _failures(self, step: StepLine, detail: _Detail, depth: int) -> Iterator[Row]:
        failures = self._failed(step)
        shown = failures[-detail.failures :]
        if len(shown) < len(failures):
            more = len(failures) - len(shown)
            yield Row(f"{count_of(more, 'other error')}", Sign.FAILED, "red", "dim", depth=depth)
        for failure in shown:
            beside = f"{failure.title}, {ending(failure)}: {failure.command}"
            yield Row(cause(failure), Sign.FAILED, "red", "red", beside, depth=depth)

    def _step_at_work(self, step: StepLine) -> Row:
        counts = (words.count_subtasks(step), words.count_errors(step))
        planning = step.phase in {StepPhase.DETAILING, StepPhase.REPLANNING}
        return Row(
            f"{step.ordinal} {step.title}",
            Sign.AT_WORK,
            "yellow" if planning else "cyan",
            "bold",
            beside=self._doing(step),
            right=", ".join(filter(None, (*counts, self._took(step)))),
        )

    def _doing(self, step: StepLine) -> str:
        """What happens to it while no command of it runs."""
        if self._running_in(step):
            return ""
        jobs = [
            job
            for job in self.live.jobs
            if (job.ref.step, job.ref.target) == (step.ordinal, step.ref.target)
        ]
        telling = [job for job in jobs if job.kind is not JobKind.EXECUTE or job.until is not None]
        if telling:
            return words.describe_job(telling[0], self.live.task.now)
        if step.phase is StepPhase.READY and any(job.held for job in jobs):
            return "begins"
        return words.describe_step(step)

    def _took(self, step: StepLine) -> str:
        begun = self.live.begun.get((step.run_id, step.ordinal))
        if step.phase in _DONE:
            return "" if begun is None else span((step.changed_at - begun).total_seconds())
        return span((self.live.task.now - (begun or step.changed_at)).total_seconds())

    def _attempt(self, running: RunningAttempt) -> Row:
        attempt = running.attempt
        since = span((self.live.task.now - attempt.started_at).total_seconds())
        costs = "" if attempt.agent is None else spent(attempt.agent)
        kind = words.describe_kind(attempt)
        command = "" if attempt.command.strip() == running.title else attempt.command
        return Row(
            " – ".join(filter(None, (kind, running.title))) or command,
            Sign.AT_WORK,
            "yellow" if kind else "cyan",
            beside=command if running.title or kind else "",
            right=", ".join(filter(None, (costs, since))),
        )

    def _all_at_work(self) -> Iterator[Row]:
        """A row for each attempt that runs, and for each step at work without one."""
        several = len(self.live.task.runs) > 1
        for run in self.live.task.runs:
            on = f"{run.target} " if several else ""
            for step in run.steps:
                running = self._running_in(step)
                for each in running:
                    row = self._attempt(each)
                    yield replace(
                        row, title=f"{on}{step.ordinal}.{each.attempt.ref.subtask} {row.title}"
                    )
                if step.phase in _WORKING and not running:
                    row = self._step_at_work(step)
                    yield replace(row, title=f"{on}{row.title}")

    def _all_troubled(self) -> Iterator[Row]:
        """A row for each step that waits or in which something failed: why, and its title."""
        several = len(self.live.task.runs) > 1
        for run in self.live.task.runs:
            for step in run.steps:
                failures, waits = self._failed(step), self._asked(step)
                if not failures and step.phase not in _STOPPED:
                    continue
                why = cause(failures[-1]) if failures else step.reason
                told = why if waits is None else " ".join(why_it_waits(waits).split())
                on = f"{run.target} " if several else ""
                row = self._stopped_step(step)
                right = "" if waits is None else waits.name  # the cause needs the room
                title = f"{on}{step.ordinal} {told}"
                yield replace(row, title=title, beside=step.title, right=right)

    def _running_in(self, step: StepLine) -> Sequence[RunningAttempt]:
        return self._by_step.get((step.ref.target, step.ordinal), ())

    @cached_property
    def _by_step(self) -> dict[tuple[str | None, int | None], list[RunningAttempt]]:
        found: dict[tuple[str | None, int | None], list[RunningAttempt]] = {}
        for each in self.live.running:
            ref = each.attempt.ref
            found.setdefault((ref.target, ref.step), []).append(each)
        return found

    def _failed(self, step: StepLine) -> Sequence[Failure]:
        return self.live.failures.get((step.run_id, step.ordinal), ())

    def _asked(self, step: StepLine) -> InterventionView | None:
        at = (step.ref.target, step.ordinal)
        asked = self.live.task.interventions
        return next((each for each in asked if (each.ref.target, each.ref.step) == at), None)


def _run_head(run: RunView) -> Row:
    done = sum(step.phase in _DONE for step in run.steps)
    errors = sum(step.errors for step in run.steps)
    told = (f"{done} of {len(run.steps)} done", count_of(errors, "error") if errors else "")
    style = f"bold {COLOURS.get(run.phase, '')}".strip()
    phase = "" if run.phase is RunPhase.RUNNING else f" {run.phase.replace('_', ' ')}"
    return Row(f"{run.target}{phase}", title_style=style, right=", ".join(filter(None, told)))


def _done_run(run: RunView) -> Row:
    took = ""
    if run.started_at is not None and run.ended_at is not None:
        took = span((run.ended_at - run.started_at).total_seconds())
    return Row(run.target, Sign.DONE, "green", beside=count_of(len(run.steps), "step"), right=took)


def _waiting(waits: InterventionView) -> Row:
    told = " ".join(why_it_waits(waits).split())
    return Row(told, Sign.ASKS, "yellow", right=f"{waits.name} waits for you")
