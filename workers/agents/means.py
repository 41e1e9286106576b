"""Agents as the means of a pass: they work in a workspace; commands and checks run there, too."""

from collections.abc import Collection, Generator, Iterable
from contextlib import closing

from shared.domain.agent import AgentRemedy
from shared.domain.attempt import AgentResult, Attempt, CommandResult, Ran
from shared.domain.errors import Defect
from shared.domain.outcome import Outcome
from shared.domain.plan import SubtaskKind
from shared.domain.preview import Preview
from shared.domain.question import Question
from shared.domain.verdict import Verdict
from shared.secrets.sent import SentSubtask
from workers.agents.assigning import Assigning
from workers.agents.label import AgentLabel
from workers.agents.outcomes import agent_outcome, question_of
from workers.agents.running import AgentRuns
from workers.passes.means import Coming, Means, Try
from workers.shells.door import Judge


class AgentMeans:
    """Carries out the subtasks of a step in its workspace; see `workers.passes.means.Means`.

    Whatever is not an agent's goes to `shells`, the means for commands in that workspace.
    """

    kinds: Collection[SubtaskKind] = frozenset(SubtaskKind)

    def __init__(
        self,
        shells: Means,
        runs: AgentRuns,
        assigning: Assigning,
        goals: Judge,
        subtasks: Iterable[SentSubtask],
    ) -> None:
        """`goals` judges the goals of agents, which no shell reads: those of `subtasks`.

        The commands that start runners are judged with them. A goal that is also a text for a
        shell is judged as that.
        """
        self.waits: Collection[str] = frozenset({*shells.waits, *AgentRemedy})
        self._shells = shells
        self._runs = runs
        self._assigning = assigning
        self._judge = goals
        listed = tuple(subtasks)
        for_shells = {text for s in listed for _, text in s.shell_texts()}
        self._goals = {
            s.command: commands_of(s)
            for s in listed
            if _is_agents(s) and s.command not in for_shells
        }
        self._permitted: set[tuple[str, str]] = set()

    def verdict(self, text: str) -> Verdict:
        """The verdict on a goal, or the guard's on a text for a shell."""
        if text not in self._goals:
            return self._shells.verdict(text)
        starts = (self._shells.verdict(command) for command in self._goals[text])
        return max((self._judge.judge(text), *starts), key=lambda each: each.kind.severity)

    def check_verdict(self, text: str) -> Verdict:
        """The verdict on a check or a precondition."""
        return self._shells.check_verdict(text)

    def look_verdict(self, text: str) -> Verdict:
        """The verdict on a text that may only look."""
        return self._shells.look_verdict(text)

    def preview(self, text: str) -> Preview | None:
        """What a command would change; None for a goal."""
        return None if text in self._goals else self._shells.preview(text)

    def settles(self, check: str) -> bool:
        """Whether the check shows that the work is done."""
        return self._shells.settles(check)

    def permit(self, text: str, key: str) -> None:
        """Let a text through under that key, unless it is denied."""
        self._permitted.add((key, text))
        self._shells.permit(text, key)

    def look(self, text: str, *, timeout: float, key: str | None = None) -> CommandResult:
        """Run a check or a precondition in the workspace."""
        return self._shells.look(text, timeout=timeout, key=key)

    def recall(self, key: str) -> Try | None:
        """The try that was started under that key."""
        known = self._runs.shell.recall(key)
        label = None if known is None else AgentLabel.read(known.label)
        if label is None:
            return self._shells.recall(key)
        return Try(label.goal, label.remedy, label.planned)

    def run(
        self, subtask: SentSubtask, draft: Attempt, this: Try, *, may_change: bool
    ) -> tuple[Try, Ran]:
        """Have an agent work, or run what is for a shell."""
        if not _is_agents(subtask):
            return self._shells.run(subtask, draft, this, may_change=may_change)
        if self._runs.shell.recall(draft.key) is None:
            self._check(this.command, draft.key)
        return this, self._runs.run(draft.key, self._assigning.task(subtask, this))

    def outcome(
        self, subtask: SentSubtask, result: Ran, check: CommandResult | None
    ) -> tuple[Outcome, str]:
        """The outcome of an attempt: its check decides."""
        if isinstance(result, AgentResult):
            return agent_outcome(result, check, subtask.agent)
        return self._shells.outcome(subtask, result, check)

    def question(self, attempt: Attempt) -> Question | None:
        """What the agent or the snippet asks."""
        return question_of(attempt) or self._shells.question(attempt)

    def remedy(
        self,
        subtask: SentSubtask,
        failed: Attempt,
        planned: str,
        *,
        used: Collection[str],
        tried: Collection[str],
    ) -> Try | None:
        """The next runner of an agent's chain; for a command, a correction."""
        if not _is_agents(subtask):
            return self._shells.remedy(subtask, failed, planned, used=used, tried=tried)
        self._assigning.note(failed)
        entered = self._assigning.next_runner(subtask)
        if entered is None or not isinstance(failed.result, AgentResult):
            return None
        again = entered.choice.name == failed.result.runner
        return Try(subtask.command, AgentRemedy.RESTART if again else AgentRemedy.NEXT_RUNNER)

    def pipeline(self, coming: Generator[Coming]) -> None:
        """Announce the commands before the next agent."""
        self._shells.pipeline(_up_to_an_agent(coming))

    def cancel_pipeline(self) -> None:
        """Start nothing more of what was announced."""
        self._shells.cancel_pipeline()

    def close(self) -> None:
        """Release the shells; an agent that runs goes on."""
        self._shells.close()
        self._runs.bench.close()

    def _check(self, goal: str, key: str) -> None:
        verdict = self.verdict(goal)
        permitted = not verdict.denied and (key, goal) in self._permitted
        if not verdict.allowed and not permitted:
            raise Defect("an agent was about to get a goal that is not allowed", stage="guard")


def _is_agents(subtask: SentSubtask) -> bool:
    return subtask.kind is SubtaskKind.AGENT


def commands_of(subtask: SentSubtask) -> tuple[str, ...]:
    """The commands of a plan that start the runners of an agent."""
    chain = () if subtask.agent is None else subtask.agent.chain
    return tuple(choice.command for choice in chain if choice.command is not None)


def _up_to_an_agent(coming: Generator[Coming]) -> Generator[Coming]:
    with closing(coming):
        for each in coming:
            if _is_agents(each.subtask):
                return
            yield each
