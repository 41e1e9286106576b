"""Gives each attempt of an agent its task: by what the plan says, and by what was tried before."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import accumulate

from shared.contracts.project import DevTask
from shared.domain.agent import AgentWork, RunnerChoice
from shared.domain.attempt import AgentResult, Attempt
from shared.domain.delivery import issue_id
from shared.domain.errors import Defect
from shared.domain.ids import parse_ref
from shared.domain.outcome import Outcome
from shared.domain.question import Reply
from shared.secrets.sent import SentSubtask
from workers.agents.agent_task import AgentTask
from workers.agents.chain import entry_of, in_hand, next_runner
from workers.agents.development import dev_task
from workers.agents.fallback import Enter
from workers.agents.protocol import fill, shipped_protocol
from workers.agents.runners.port import AnsweredCall, Resumed
from workers.agents.task_text import Assignment
from workers.passes.means import Try
from workers.passes.ports import PassOrder

_TOLD_AT_MOST = 4000
"""Characters of each: a reason, a summary, the names of files, and a check's output.

The task stands in the script that starts the next runner, whose length is limited.
"""


class Assigning:
    """The agents' tasks of one pass."""

    def __init__(self, order: PassOrder, *, runner: str) -> None:
        """`runner` works where the plan names none."""
        self._order = order
        self._runner = runner
        self._answers = {(each.revision, each.pass_no): each.reply for each in order.replies}
        self._tried: dict[int, list[Attempt]] = defaultdict(list)
        for number in {subtask.ordinal for subtask in order.subtasks}:
            self._tried[number] = in_hand(
                order.earlier, subtask=number, revision=order.revision, pass_no=order.pass_no
            )

    def note(self, attempt: Attempt) -> None:
        """Take note of an attempt that this driver made."""
        tried = self._tried[attempt.subtask]
        if all(known.key != attempt.key for known in tried):
            tried.append(attempt)

    def next_runner(self, subtask: SentSubtask) -> Enter | None:
        """The runner to enter now; None if none is left."""
        return self._entered(_work(subtask), self._tried[subtask.ordinal])

    def task(self, subtask: SentSubtask, this: Try) -> AgentTask:
        """The task of the next attempt."""
        work = _work(subtask)
        entered = self.next_runner(subtask) or self._entered(work, ())
        if entered is None:
            raise Defect(f"no runner for subtask {subtask.key!r}", stage="execute")
        choice = entered.choice
        resumed, home = self._resumed(subtask, choice)
        last = next(reversed(self._tried[subtask.ordinal]), None)
        if resumed is None:
            resumed, home = self._allowed(subtask)
        return AgentTask(
            this=this,
            assignment=Assignment(
                goal=subtask.command,
                context=work.context,
                acceptance=work.acceptance,
                earlier=earlier_work(self._last(subtask)),
                replies=self._replies(),
                dev_task=self._dev_task(subtask),
                issue=self._issue(),
            ),
            runner=choice.runner,
            name=choice.name,
            command=choice.command,
            timeout=entered.timeout + this.allowance,
            protocol=_protocol(work, choice, entered.timeout, self._name()),
            mode=work.mode,
            time_budget=work.time_budget,
            cost_budget=self._budget(work),
            compliance=work.compliance,
            key=self._name(),
            allowed_tools=work.allowed_tools,
            resumed=resumed,
            home=home,
            earlier=self._results(subtask),
            entry=entry_of(last),
            after=None if last is None else _runner(last),
            watchdog=work.watchdog,
        )

    def _dev_task(self, subtask: SentSubtask) -> DevTask | None:
        """The step as a development task; None where nothing is delivered."""
        order = self._order
        if not order.policy.deliver:
            return None
        return dev_task(
            order.step,
            (subtask,),
            rejections=order.rejections,
            max_attempts=order.policy.max_delivery_attempts,
        )

    def _issue(self) -> str | None:
        """The id under which the step delivers; None where nothing is delivered."""
        order = self._order
        if not order.policy.deliver:
            return None
        return issue_id(parse_ref(order.task_ref).task, order.step.ordinal, order.step.key)

    def _entered(self, work: AgentWork, attempts: Iterable[Attempt]) -> Enter | None:
        return next_runner(work.chain or (RunnerChoice(self._runner, 1),), work, attempts)

    def _last(self, subtask: SentSubtask) -> Attempt | None:
        """The last attempt of an agent at it in this revision, or of one in an earlier revision.

        A revision may give the same work another number, and finds what the step's agents left.
        """
        known = (*self._order.earlier, *self._tried[subtask.ordinal])
        agents = [a for a in reversed(known) if isinstance(a.result, AgentResult)]
        revision = self._order.revision
        own = (a for a in agents if (a.revision, a.subtask) == (revision, subtask.ordinal))
        before = (a for a in agents if a.revision < revision)
        return next(own, None) or next(before, None)

    def _results(self, subtask: SentSubtask) -> tuple[AgentResult, ...]:
        """What agents have done at it in this revision: the same number is other work in another.

        Those of this pass stand in the order, too, once it is driven on.
        """
        number, revision = subtask.ordinal, self._order.revision
        known = {a.key: a for a in (*self._order.earlier, *self._tried[number])}.values()
        own = (a for a in known if (a.subtask, a.revision, a.rollback) == (number, revision, False))
        return tuple(a.result for a in own if isinstance(a.result, AgentResult))

    def _name(self) -> str:
        """What people call the work: its step's name in the plan, otherwise its place.

        A step that its plan gives no name has its number for a key.
        """
        step = self._order.step
        return f"{self._order.task_ref}.{step.ordinal}" if step.key.isdigit() else step.key

    def _replies(self) -> tuple[Reply, ...]:
        """All that people have answered for the step: before it began, and to its passes."""
        step = self._order.step
        before = () if step.answer is None else (Reply(step.ask_question, step.answer),)
        told = (each.reply for each in self._order.replies)
        return tuple(Reply(_cut(each.question), each.answer) for each in (*before, *told))

    def _resumed(
        self, subtask: SentSubtask, choice: RunnerChoice
    ) -> tuple[Resumed | None, str | None]:
        """The session of this runner that goes on with a person's answer, and its home.

        It gets all answers that it has ever had, in order. Without an answer to its last question,
        nothing goes on: the work is begun again, with all answers in its task.
        """
        worked = [a for a in self._tried[subtask.ordinal] if isinstance(a.result, AgentResult)]
        session = _session(worked[-1]) if worked else None
        if not session or _runner(worked[-1]) != choice.name:
            return None, None
        own = [a for a in worked if _session(a) == session]
        if self._answer(own[-1]) is None:
            return None, None
        answers = tuple(answer for each in own if (answer := self._answer(each)) is not None)
        return Resumed(session, answers), own[0].key

    def _answer(self, attempt: Attempt) -> AnsweredCall | None:
        """A person's answer to the question of an attempt; None if there is none."""
        reply = self._answers.get((attempt.revision, attempt.pass_no))
        if reply is None or attempt.outcome is not Outcome.NEEDS_INPUT:
            return None
        result = attempt.result
        if not isinstance(result, AgentResult):
            return None
        asked = reply.question if result.question is None else result.question.text
        return AnsweredCall(result.call, asked, reply.answer)

    def _allowed(self, subtask: SentSubtask) -> tuple[Resumed | None, str | None]:
        """The session that goes on because a person lets it spend more, and its home."""
        tried = self._tried[subtask.ordinal]
        session = _session(tried[-1]) if tried else None
        if not session or tried[-1].outcome is not Outcome.OVER_BUDGET:
            return None, None
        return Resumed(session), next(a for a in tried if _session(a) == session).key

    def _budget(self, work: AgentWork) -> float:
        default = self._order.policy.agent_cost_budget
        return default if work.cost_budget is None else work.cost_budget


def _session(attempt: Attempt) -> str | None:
    return attempt.result.session if isinstance(attempt.result, AgentResult) else None


def _runner(attempt: Attempt) -> str | None:
    return attempt.result.runner if isinstance(attempt.result, AgentResult) else None


def _protocol(work: AgentWork, choice: RunnerChoice, time_budget: float, task: str) -> str:
    """The text for work without a person (S4.16–S4.18); empty for none."""
    if not work.is_autonomous:
        return ""
    text = shipped_protocol() if choice.protocol is None else choice.protocol
    return fill(text, time_budget, task)


def _work(subtask: SentSubtask) -> AgentWork:
    if subtask.agent is None:
        raise Defect(f"subtask {subtask.key!r} is not an agent's", stage="execute")
    return subtask.agent


def earlier_work(last: Attempt | None) -> str:
    """What is known about the work of an earlier attempt, for the agent that continues it."""
    if last is None or not isinstance(last.result, AgentResult):
        return ""
    result = last.result
    ended = _cut(last.explanation)
    lines = [f"It was made by {result.runner or 'another agent'}. It ended so: {ended}"]
    if result.summary:
        lines.append(f"Its own summary: {_cut(result.summary)}")
    if result.changed_files:
        lines.append(f"It changed: {_named(result.changed_files)}")
    if last.check is not None and not last.check.ok:
        output = (last.check.stdout + last.check.stderr).decode(errors="replace").strip()
        lines.append(f"The check `{last.check.command}` was red: {output[-_TOLD_AT_MOST:]}")
    return "\n".join(lines)


def _cut(text: str) -> str:
    left = len(text) - _TOLD_AT_MOST
    return text if left <= 0 else f"{text[:_TOLD_AT_MOST]} … ({left} more characters)"


def _named(files: Sequence[str]) -> str:
    """The first of them, as many as may be told, and how many more there are."""
    lengths = accumulate(len(name) + len(", ") for name in files)
    told = sum(length <= _TOLD_AT_MOST for length in lengths)
    left = len(files) - told
    return ", ".join((*files[:told], *([f"{left} more"] if left else [])))
