"""Runs one attempt of an agent: started once for its key, followed, and read to its result."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from uuid import NAMESPACE_URL, uuid5

import structlog

from shared.domain.agent import (
    AgentWork,
    ExecutionMode,
)
from shared.domain.attempt import AgentResult, AgentStatus, CommandResult, EndedBy
from shared.domain.attempt_notes import (
    AttemptNote,
    FoundStuck,
    RunnerEntered,
    TaskValidated,
)
from shared.domain.containment import Networks
from shared.domain.errors import Rejected, Transient
from shared.domain.transcript import EVENTS, RAW, TranscriptLine
from shared.secrets.masking import Masker
from shared.store.model_calls import CallSigns
from workers.agents.agent_task import AgentTask
from workers.agents.compliance import (
    Conduct,
    TaskValidation,
    count_questions,
    is_judged,
    judge,
)
from workers.agents.containment.containing import HostContainment
from workers.agents.containment.text import Place, place_of_workspace, reachable_gateway
from workers.agents.context_files import require_files
from workers.agents.follower import Follower
from workers.agents.handoff import read_handoff
from workers.agents.heartbeat import Heartbeat
from workers.agents.kept_output import kept_output
from workers.agents.label import AgentLabel
from workers.agents.outcomes import answer_of, began_with, summary_of, why_not_started
from workers.agents.ports import AccessOf, CallsOf, NotesOf, ProcessesOf, RunnerOf, Workbench
from workers.agents.process_signs import ProcessSigns
from workers.agents.runners.port import (
    AgentOrder,
    GatewayAccess,
    Runner,
    RunnerOutcome,
)
from workers.agents.runners.script import script
from workers.agents.runners.table import COMMAND
from workers.agents.sessions import has_session
from workers.agents.spending import Spending, SpendingWatch, Unmetered
from workers.agents.steering import steering_files
from workers.agents.transcript import encode
from workers.agents.watchdog import LINGER, Signs, describe, look_every
from workers.agents.watcher import TakenOver, Watcher
from workers.agents.workspaces.values import Snapshot
from workers.passes.ports import PassControl
from workers.shells.ports import Call, Shell
from workers.shells.remote.live_output import LiveOutput

log = structlog.get_logger()

SNAPSHOT_EVERY = 15.0
"""Seconds between two snapshots of a workspace while an agent works (S2.47)."""


@dataclass(frozen=True, slots=True)
class AgentRuns:
    """Runs the attempts of agents in one workspace, through the shell of a pass.

    `pass_name` tells passes of different installations apart. `masker` hides secrets in what is
    shown of a stream that a reader needs whole. Without `containing`, no agent runs contained.
    """

    shell: Shell
    bench: Workbench
    runner_of: RunnerOf
    control: PassControl
    access_of: AccessOf = lambda _: None
    processes_of: ProcessesOf = lambda _: ProcessSigns()
    notes_of: NotesOf = lambda _: ()
    calls_of: CallsOf = lambda _: None
    pass_name: str = ""
    snapshot_every: float = SNAPSHOT_EVERY
    masker: Masker | None = None
    spending: Spending = field(default_factory=Unmetered)
    containing: HostContainment | None = None

    def run(self, key: str, task: AgentTask) -> AgentResult:
        """Run an attempt, or wait for what an earlier driver started under its key.

        Raises what the shell raises. That a runner cannot be started like that is a result.
        """
        known = self.shell.recall(key)
        label = None if known is None else AgentLabel.read(known.label)
        if known is not None and label is not None:
            call = Call(known.command, task.timeout, key=key, label=known.label)
            self._allow(key, task)  # a failover of the database may have lost it
            return _Run(self, key, label, task, self.notes_of(key), taken_over=True).carry_out(call)
        try:
            return self._start(key, task)
        except Rejected as error:
            return _not_started(task, error)

    def _start(self, key: str, task: AgentTask) -> AgentResult:
        this, runner = task.this, self.runner_of(task.runner, task.command)
        if not self._goes_on(runner, task):
            task = replace(task, resumed=None, home=None)
        require_files(self.shell, self.bench.path, task.assignment.context)
        access = self.access_of(key)
        url = None if access is None else access.url
        networks = None if self.containing is None else self.containing.networks(url)
        label = AgentLabel(
            this.command,
            this.remedy,
            this.planned,
            task.runner,
            task.command,
            task.name,
            self.bench.snapshot(key).tree,
            networks,
        )
        call = self._call(key, task, label, runner)
        self._allow(key, task)
        return _Run(self, key, label, task, self.notes_of(key)).carry_out(call)

    def _allow(self, key: str, task: AgentTask) -> None:
        if task.cost_budget:
            self.spending.allow(key, task.cost_budget)

    def _goes_on(self, runner: Runner, task: AgentTask) -> bool:
        """Whether the session that is to go on is still there; if not, a new one is begun."""
        if task.resumed is None or task.home is None or not runner.capabilities.resume:
            return False
        home = f"{self.bench.homes}/{task.home}"
        return has_session(self.shell, runner.capabilities, home, task.resumed.session)

    def _call(self, key: str, task: AgentTask, label: AgentLabel, runner: Runner) -> Call:
        access = self.access_of(key)
        home = f"{self.bench.homes}/{task.home or key}"
        place = self._place(home, label.networks, access)
        if access is not None and label.networks is Networks.GATEWAY:
            access = replace(access, url=reachable_gateway(access.url) or access.url)
        order = AgentOrder(
            assignment=replace(task.assignment, base=self.bench.base),
            workspace=self.bench.path,
            home=home,
            session=str(uuid5(NAMESPACE_URL, f"replan:{self.pass_name}/{key}")),
            gateway=access,
            program="" if task.runner == COMMAND else task.command or "",
            protocol=task.protocol,
            interactive=task.mode is not ExecutionMode.AUTONOMOUS,
            allowed_tools=task.allowed_tools,
            resumed=task.resumed,
            form=task.form,
        )
        invocation = runner.invocation(order)
        call = Call(
            script(invocation, place),
            task.timeout,
            key=key,
            label=str(label),
            variables=invocation.secrets,
        )
        call.require_valid()
        return call

    def _place(
        self, home: str, networks: Networks | None, access: GatewayAccess | None
    ) -> Place | None:
        if self.containing is None or networks is None:
            return None
        place = place_of_workspace(self.bench.path, home)
        gateway = None if access is None else access.url
        return replace(place, hidden=self.containing.hidden, networks=networks, gateway=gateway)


class _Run:
    """One run of a runner, from its start or its takeover to its result."""

    def __init__(
        self,
        runs: AgentRuns,
        key: str,
        label: AgentLabel,
        task: AgentTask,
        noted: Sequence[AttemptNote],
        *,
        taken_over: bool = False,
    ) -> None:
        """`noted` is what is on record about the attempt: nothing is told twice."""
        self._runs = runs
        self._key = key
        self._label = label
        self._task = task
        self._every = look_every(task.watchdog, runs.snapshot_every)
        self._runner = runs.runner_of(label.runner, label.command)
        has_events = self._runner.capabilities.events
        found = tuple(each for each in noted if isinstance(each, FoundStuck))
        self._watcher = Watcher(
            task.watchdog,
            has_events=has_events,
            taken_over=TakenOver(label.tree, found) if taken_over else None,
            tell=self._tell,
        )
        self._noted = {type(each) for each in noted}
        self._parsed = has_events
        self._unmasked = runs.masker if has_events else None
        self._shown = LiveOutput(self._show, self._unmasked)
        self._spending = SpendingWatch(runs.spending, key)
        self._follower = Follower(
            self._runner.reader,
            self._shown.send,
            self._watcher.hear,
            self._show_lines,
            (runs.masker.text if runs.masker else str) if has_events else None,
        )

    def carry_out(self, call: Call) -> AgentResult:
        """Start it or take it over, and wait for its end."""
        runs, task, label = self._runs, self._task, self._label
        call = replace(call, parsed=self._parsed)
        self._tell_once(RunnerEntered(label.name, label.tree, task.entry, task.after))
        with Heartbeat(self._every, self._beat), self._spending.watching():
            result = runs.shell.run(call, on_output=self._follower.take, cancelled=self._must_end)
        self._shown.finish()
        return self._result(result, runs.bench.snapshot(self._key, whole=True))

    def _show(self, stream: str, chunk: bytes) -> None:
        name = RAW if self._parsed and stream == "stdout" else stream
        self._runs.control.output(self._key, name, chunk)

    def _show_lines(self, lines: Sequence[TranscriptLine]) -> None:
        self._runs.control.output(self._key, EVENTS, encode(lines))

    def _beat(self) -> None:
        """Keep what the workspace holds, and look whether the agent makes progress."""
        kept = self._runs.bench.snapshot(self._key)
        used = self._processes()
        if used is not None and used.processes == 0:
            return  # it has ended, and the shell is about to say so
        signs = self._signs(kept, used)
        strategy = self._watcher.see(signs, None if used is None else used.quiet)
        found = self._watcher.found
        if strategy is not None and found is not None:
            log.warning("agent_stuck", reason=describe(self._task.key, found, strategy))

    def _signs(self, kept: Snapshot, used: ProcessSigns | None) -> Signs:
        signs = Signs(self._follower.size, kept.tree, kept.head)
        if used is not None:
            signs = replace(signs, cpu=used.cpu, io=used.io)
        calls = self._calls()
        if calls is None:
            return signs
        return replace(
            signs,
            tokens=calls.tokens,
            heard=calls.heard,
            requests=calls.requests,
            unanswered=not calls.answered,
            provider_away=calls.provider_away,
        )

    def _calls(self) -> CallSigns | None:
        """What the gateway does for it; None if nobody asks, or the look fails."""
        if not self._task.watchdog.enabled:
            return None
        try:
            return self._runs.calls_of(self._key)
        except Transient:
            return None

    def _tell(self, note: AttemptNote) -> None:
        self._runs.control.note(self._key, note)

    def _tell_once(self, note: AttemptNote) -> None:
        if type(note) not in self._noted:
            self._tell(note)

    def _processes(self) -> ProcessSigns | None:
        """What its processes have used; None if nobody asks, or the look fails."""
        if not self._task.watchdog.enabled:
            return None
        try:
            return self._runs.processes_of(self._key)
        except Transient:
            return None

    def _must_end(self) -> bool:
        ended = self._follower.has_ended(since=LINGER)
        return ended or self._watcher.is_over or self._spending.is_over or self._is_unwanted()

    def _is_unwanted(self) -> bool:
        control = self._runs.control
        return control.withdrawn() or control.unwanted(self._key)

    def _ended_by(self, result: CommandResult) -> EndedBy | None:
        """Who ended it: what no person has ended, this driver or an earlier one did, by a rule.

        A runner that is ended after its result has ended by itself.
        """
        if result.ended_by is not EndedBy.CANCEL or self._is_unwanted():
            return result.ended_by
        if self._follower.has_ended():
            return None
        return EndedBy.SPENDING if self._spending.is_over else EndedBy.WATCHDOG

    def _result(self, result: CommandResult, kept: Snapshot) -> AgentResult:
        self._follower.read_rest(result)
        unpaid = self._spending.look()
        ended_by = self._ended_by(result)
        said = self._follower.outcome(result, ended_by)
        usage, asked, bench, tree = said.usage, said.question, self._runs.bench, kept.tree
        changed = bench.changed(bench.base, tree)
        not_started = why_not_started(self._label.name, said, result.exit_code)
        made = AgentResult(
            status=said.status,
            summary=summary_of(said),
            started_at=result.started_at,
            ended_at=result.ended_at,
            changed_files=changed,
            steering=steering_files(changed),
            tokens=0 if usage is None else usage.tokens,
            cost=None if usage is None else usage.cost,
            session=said.session or None,
            tree=tree,
            base=bench.base,
            before=self._label.tree,
            began=began_with(self._label.tree, self._task.earlier),
            runner=self._label.name,
            version=said.version,
            model=said.model,
            question=None if asked is None else asked.question,
            call="" if asked is None else asked.call,
            questions=self._questions(said),
            stuck=self._watcher.times,
            mode=self._task.mode,
            time_budget=self._task.time_budget,
            workspace=bench.remarks.leaving_out(kept.left_out),
            ended_by=ended_by,
            signal=result.signal,
            left_over=result.left_over,
            unknown=result.unknown,
            structured=answer_of(said, self._task.assignment, self._runner.capabilities),
            output=kept_output(result, self._follower.transcript, self._unmasked),
            networks=self._label.networks,
            not_started=not_started if tree == self._label.tree else "",
        )
        made = made if made.ok else replace(made, unpaid=unpaid)
        return made if made.cancelled else self._judged(made)

    def _judged(self, made: AgentResult) -> AgentResult:
        """The result with what it did against the protocol (S4.43, S4.45)."""
        task = self._task
        work = AgentWork(mode=task.mode, time_budget=task.time_budget, compliance=task.compliance)
        if not is_judged(work):
            return made
        handoff = read_handoff(self._runs.shell, self._runs.bench.path)
        took = (made.ended_at - made.started_at).total_seconds()
        report = judge(work, Conduct(task.key, made.questions, handoff, took))
        unjudged = tuple(sorted(report.unjudged))
        self._tell_once(TaskValidated(task.key, report.compliant, report.violations, unjudged))
        for each in () if report.compliant else report.violations:
            log.error("protocol_violation", task_id=task.key, rule=each.rule, details=each.details)
        told = TaskValidation(task.key, report).as_json()
        log.info(told.pop("type"), **told)
        return replace(made, violations=report.violations)

    def _questions(self, said: RunnerOutcome) -> int | None:
        if self._runner.capabilities.events:
            return count_questions(self._follower.events)
        return None if said.question is None else 1


def _not_started(task: AgentTask, error: Rejected) -> AgentResult:
    now = datetime.now(UTC)
    return AgentResult(
        AgentStatus.ERROR,
        error.reason,
        now,
        now,
        runner=task.name,
        mode=task.mode,
        time_budget=task.time_budget,
        not_started=error.reason,
    )
