"""The final report as Markdown (S0.80)."""

from orchestrator.views.attempts import AttemptLine
from orchestrator.views.cancellations import InHand
from orchestrator.views.decisions import HumanDecision
from orchestrator.views.escalations import Escalation, Recipient
from orchestrator.views.interventions import InterventionView
from orchestrator.views.proofs import StepProof
from orchestrator.views.report import Report
from orchestrator.views.spending import Spending
from orchestrator.views.steps import StepView
from orchestrator.views.tasks import TaskView
from orchestrator.words import (
    approvals,
    causes,
    deliveries,
    notes,
    postponed,
    proofs,
    unknown_outcomes,
)
from orchestrator.words.agents import describe_agent
from orchestrator.words.failures import describe_failure, first_failure, why_it_stops, why_it_waits
from orchestrator.words.looks import name_look
from orchestrator.words.prose import code, prose
from orchestrator.words.quantities import clock, count_of
from orchestrator.words.spending import summary_lines
from shared.domain.attempt import describe_left
from shared.domain.author import Author, PlanningRole
from shared.domain.next_step import command_line
from shared.visible import visible

_ACTS = {
    "task.cancel": "cancelled it",
    "task.resume": "resumed it",
    "repair.attempt": "repaired it",
    "repair.worktree": "repaired its workspace",
    "attempt.run": "had its next pass carried out",
    "plan.build": "added issues of a backlog",
    "plan.resume": "resumed it",
    "task.limit": "changed the limits",
    "plan.provide": "provided the plan",
    "plan.revise": "changed the remaining steps",
    "plan.approve": "approved the plan",
    "step.revise": "revised it",
    "step.raise": "raised the budget of its agents",
    "step.abandon": "abandoned it",
    "bundle.send": "sent the evidence to its planner",
    "intervention.answer": "answered",
    "intervention.approve": "approved what would run",
    "intervention.deny": "did not approve what would run",
    "attempt.cancel": "ended it",
}
"""The words for each act on a task."""


def markdown(compiled: Report) -> str:
    """The report as Markdown."""
    task = compiled.task
    lines = [
        f"# {task.ref}: {task.phase}",
        "",
        *_quote(task.prompt),
        "",
        *([f"Improved prompt: {prose(task.improved_prompt)}", ""] if task.improved_prompt else []),
        *_why(task),
        counts(compiled),
        *_predictions(compiled.predictions),
    ]
    if task.reason and (task.interventions or first_failure(task)):
        lines += ["", prose(task.reason)]
    for waits in task.put_off:
        lines += ["", f"{waits.ref}: {prose(postponed.describe(waits))}"]
    lines += _looks(compiled.looks)
    for step in compiled.steps:
        lines += _step(step, managed=task.policy.project)
    lines += _proofs(compiled.proofs)
    lines += _decisions(compiled.decisions)
    lines += _spending(task.spending)
    lines += _in_hand(task.in_hand)
    for asked in task.interventions:
        lines += ["", f"**Waits for you** ({asked.kind}): {prose(why_it_waits(asked))}", ""]
        lines += _evidence(asked)
        lines += [f"    {command_line(step)}" for step in asked.next_steps]
    return visible("\n".join(lines))


def _quote(text: str) -> list[str]:
    return [f"> {prose(line)}".rstrip() for line in text.splitlines()]


def _why(task: TaskView) -> list[str]:
    """Why it goes no further."""
    why = why_it_stops(task)
    return [f"**Why it is {task.phase}:** {prose(why)}", ""] if why else []


def counts(compiled: Report) -> str:
    """How much was tried, what failed and what came of that, in one line."""
    looks = f"{count_of(compiled.looked, 'look')}, " if compiled.looked else ""
    return (
        f"{looks}{count_of(compiled.attempts, 'attempt')}, {compiled.failed} failed, "
        f"{compiled.corrected} "
        f"saved by a correction, {count_of(compiled.escalations, 'escalation')}, "
        f"{count_of(compiled.revisions, 'revision')}, "
        f"{compiled.seconds:.1f} s."
    )


def _predictions(counts: dict[str, int]) -> list[str]:
    if not counts:
        return []
    told = ", ".join(f"{count} {prediction}" for prediction, count in counts.items())
    return ["", f"This was a dry run: nothing was changed. Predictions for its subtasks: {told}."]


def _looks(looks: tuple[AttemptLine, ...]) -> list[str]:
    """What the planner of the task looked at."""
    if not looks:
        return []
    lines = [line for look in looks for line in _attempt(look)]
    return ["", "## What the planner looked at", "", *lines]


def _step(view: StepView, *, managed: bool) -> list[str]:
    step = view.step
    author = prose(_author(step.author, managed=managed))
    lines = ["", f"## {step.ref} {prose(step.title)}: {step.phase}", ""]
    lines.append(f"Planned by {author}; {step.done} of {count_of(step.subtasks, 'subtask')} done.")
    if step.failure is not None:
        lines += ["", f"Why: {prose(describe_failure(step.failure))}"]
    if step.reason:
        lines += ["", f"Last reason: {prose(step.reason)}"]
    for revision in view.revisions:
        said = f": {prose(revision.reason)}" if revision.reason else ""
        by = prose(_author(revision.author, managed=managed))
        lines += ["", f"### Revision {revision.revision} by {by}{said}", ""]
        if revision.rollback:
            lines += [f"Undone first, if it ran: {prose(', '.join(revision.rollback))}", ""]
        for dropped in revision.dropped_checks:
            told = f"{code(_first_line(dropped.check))}: {prose(dropped.reason)}"
            lines += [f"Check dropped: {told}", ""]
        tried = [a for a in view.attempts if a.revision == revision.revision]
        lines += [line for attempt in tried for line in _attempt(attempt)] or ["No attempts."]
        for each in view.escalations:
            if each.revision == revision.revision:
                count = sum(a.counted for a in tried if a.pass_no <= each.pass_no)
                lines += [
                    "",
                    f"Escalated after {count_of(count, 'error')}: {_recipients(each, author)}.",
                    *_causes(each),
                ]
    return lines


def _author(author: Author, *, managed: bool) -> str:
    """Who has planned it: the planner of a project is its manager."""
    if managed and author.role is PlanningRole.PLANNER:
        return f"manager/{author.backend}"
    return str(author)


def _causes(escalation: Escalation) -> list[str]:
    """What the host said was wrong."""
    told = [line for _, text in causes.describe(escalation.causes) for line in text.splitlines()]
    return ["", "Wrong on the host:", "", *(f"- {prose(line)}" for line in told)] if told else []


def _proofs(steps: tuple[StepProof, ...]) -> list[str]:
    """What was proved, by which check, and when; nothing for a task without steps."""
    if not steps:
        return []
    lines = ["", "## What was proved", "", proofs.summary(steps)]
    for step in steps:
        lines += ["", f"{step.ref} {prose(step.title)}: {step.phase}", ""]
        for each in step.subtasks:
            check = "" if each.check is None else f": {code(_first_line(each.check))}"
            lines.append(f"- {each.ref}{check} – {prose(proofs.describe(each))}")
        for dropped in step.dropped_checks:
            check = code(_first_line(dropped.check))
            lines.append(f"- no longer asked: {check} – {prose(dropped.reason)}")
    return lines


def _recipients(escalation: Escalation, author: str) -> str:
    """Who received the evidence, in order."""
    words = {
        Recipient.AUTHOR: f"the evidence went to {author}",
        Recipient.ADVISER: f"{author} was asked whether another try is worth it",
        Recipient.PLANNER: "the evidence went to the planner of the task",
        Recipient.MEMORY: "the memory of fixes answered, and no planner was asked",
        Recipient.HELD: "the evidence was held for a person to send",
        Recipient.PERSON: "a person was asked",
    }
    told = (words[each] for each in escalation.recipients)
    return ", then ".join(told) or "nobody has received the evidence yet"


def _decisions(decisions: tuple[HumanDecision, ...]) -> list[str]:
    """What people decided, oldest first; the submission itself is not a decision."""
    told = [_decision(each) for each in decisions if each.verb != "task.submit"]
    return ["", "## What people decided", "", *told] if told else []


def _decision(each: HumanDecision) -> str:
    asked = each.details.get("intervention")
    about = f" ({asked})" if asked else ""
    limits = each.details if each.verb == "task.limit" else {}
    answer = str(each.details.get("answer", "")) if each.verb == "intervention.answer" else ""
    said = each.said or answer or ", ".join(f"{key}={value}" for key, value in limits.items())
    what = _ACTS.get(each.verb, each.verb)
    told = f": {prose(_first_line(said))}" if said else ""
    return f"- {each.ref}{about}: {prose(each.by)} {what}{told}"


def _spending(spent: Spending) -> list[str]:
    """The model calls, by role and step."""
    if not spent.lines:
        return []
    whole, *lines = summary_lines(spent)
    told = [f"- {prose(line)}" for line in lines]
    return ["", "## Model calls", "", whole.removeprefix("models: "), "", *told]


def _in_hand(ended: tuple[InHand, ...]) -> list[str]:
    """How commands that were running at the cancellation ended."""
    if not ended:
        return []
    lines = ["", "## What was running when it was cancelled", ""]
    for each in ended:
        command = f": {code(_first_line(each.command))}" if each.command else ""
        lines.append(f"- {each.ref}{command} – {prose(each.told)}")
    return lines


def _evidence(waits: InterventionView) -> list[str]:
    parts = [part for wanted in waits.wanted for part in approvals.describe(wanted)]
    if waits.evidence is not None:
        parts += unknown_outcomes.describe(waits.evidence)
    parts += causes.describe(waits.causes)
    parts += deliveries.describe_rejected(waits.rejected)
    lines = []
    for name, text in parts:
        first, *rest = text.split("\n")
        lines.append(f"    {name}: {first}".rstrip())
        lines += [f"        {line}".rstrip() for line in rest]
    return [*lines, ""] if lines else []


def _attempt(attempt: AttemptLine) -> list[str]:
    """The attempt, and below it what was noted while it ran."""
    shown = _first_line(attempt.command)
    saved = f" after `{attempt.correction}`" if attempt.correction else ""
    if attempt.look:
        saved = f" {name_look(attempt)}"
    if attempt.rollback:
        saved = f" rollback in pass {attempt.pass_no}"
    said = attempt.said if attempt.exit_code is not None and attempt.said else attempt.reason
    left = describe_left(attempt.left_over, attempt.ended_by)
    agent = "" if attempt.agent is None else describe_agent(attempt.agent, looks=attempt.look)
    why = "".join(f" – {prose(each)}" for each in (said, left, agent) if each)
    span = "" if attempt.seconds is None else f" ({attempt.seconds:.1f} s)"
    line = f"- **{attempt.outcome}**{saved} {attempt.ref}{span}: {code(shown)}{why}"
    told = [f"    - {clock(n.at)} {prose(notes.describe(n.note))}" for n in attempt.notes]
    return [line, *told]


def _first_line(command: str) -> str:
    first, _, rest = command.strip().partition("\n")
    return first + (" …" if rest else "")
