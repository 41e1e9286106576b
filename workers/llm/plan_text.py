"""A plan as a planner reads it, for one of its steps or for what remains of it; pure."""

from shared.domain.plan import Step
from workers.llm.evidence import clean, cut
from workers.planning import DetailRequest, ReplanRequest


def describe_progress(request: ReplanRequest) -> str:
    """The plan of a run, and what has become of each step."""
    lines = []
    for step in request.plan.steps:
        phase = request.phases.get(step.ordinal, "not_started").replace("_", " ")
        lines.append(f"{step.ordinal}. {clean(step.title)}{_inside(step)} [{phase}]")
        lines.append(f"   {cut(clean(step.instruction), 600)}".rstrip())
    return "\n".join(lines)


def _inside(step: Step) -> str:
    return "" if step.repository is None else f" (in {clean(step.repository)})"


def describe_steps(request: DetailRequest) -> str:
    """The plan; before a changed one, what is done and not in it."""
    finished = {step.ordinal for step in request.done}
    before = (step for step in request.done if step.ordinal is None)
    lines = [f"- {clean(step.title)} [done before]" for step in before]
    for step in request.plan.steps:
        after = f" (after {', '.join(map(str, step.depends_on))})" if step.depends_on else ""
        here = " <- this one" if step.ordinal == request.step.ordinal else ""
        state = " [done]" if step.ordinal in finished else ""
        lines.append(f"{step.ordinal}. {clean(step.title)}{_inside(step)}{after}{state}{here}")
        for each in step.subtasks:
            mark = "$" if each.agent is None else "goal of an agent:"
            lines.append(f"   {mark} {cut(clean(each.command), 300)}")
    return "\n".join(lines)
