"""The model calls of a task and their cost, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.words.quantities import count_of
from shared.domain.spending import Cap, exact

if TYPE_CHECKING:  # a list of tasks names amounts alone
    from collections.abc import Iterator

    from orchestrator.views.spending import CallLine, Spending
    from orchestrator.views.spending_sums import SpendingLine, SpendingSum
    from orchestrator.views.unpaid import UnpaidView


def summary_lines(spent: Spending) -> tuple[str, ...]:
    """The sums in words, a line for each role and place; empty when no model was asked."""
    if not spent.lines:
        return ()
    capped = "" if spent.cap is None else f" of ${exact(spent.cap)}"
    whole = f"models: {sums(spent)}{capped}{_unknown(spent.unknown)}"
    return (
        whole,
        *_apart(spent),
        *(f"  {line.ref} {line.role}: {_line_text(line)}" for line in spent.lines),
        *(
            f"  {step.ref} together: {_whole_sum(step.together)}"
            for step in spent.steps
            if step.planners.tokens and step.agents.tokens
        ),
    )


def sums(spent: Spending | SpendingSum) -> str:
    """Calls, tokens and cost."""
    return _sums(spent.calls, spent.tokens, amount(spent.cost, estimated=spent.estimated))


def _apart(spent: Spending) -> Iterator[str]:
    """What planners and agents have cost, where agents have worked."""
    if not spent.agents.tokens and not spent.agents.calls:
        return
    yield f"  planners: {_whole_sum(spent.planners)}"
    yield f"  agents: {_whole_sum(spent.agents)}"
    if spent.reported:
        yield f"  {amount(spent.reported)} of it are what agents report: no cap counts that"


def _whole_sum(spent: SpendingSum) -> str:
    return f"{sums(spent)}{_unknown(spent.unknown)}"


def _line_text(line: SpendingLine) -> str:
    if line.reported_tokens:
        told = f"{line.reported_tokens} tokens, {amount(line.cost)}, by its own count"
        return ", ".join(filter(None, (f"{told}{_unknown(line.unknown)}", line.model)))
    tokens = (
        f"{line.input_tokens} tokens in, {line.cache_read_tokens} from the cache, "
        f"{line.cache_written_tokens} into it, {line.output_tokens} out"
    )
    counted = _sums(line.calls, None, amount(line.cost, estimated=line.estimated))
    return f"{counted}{_unknown(line.unknown)}, {tokens}, {line.seconds:.1f} s, {line.model}"


def amount(dollars: float, *, estimated: bool = False) -> str:
    """A cost, to the hundredth of a cent unless that would be nothing."""
    shown = f"{dollars:.4f}"
    digits = exact(dollars) if dollars and not float(shown) else shown
    return f"{'about ' if estimated else ''}${digits}"


def describe_unpaid(unpaid: UnpaidView) -> Iterator[tuple[str, str]]:
    """What an agent could not pay, as pairs of a name and a text."""
    if unpaid.cap is not Cap.PRICE:
        spent = f"{amount(unpaid.spent)} of ${exact(unpaid.limit)}"
        yield "spent", f"{spent} for {unpaid.ref} ({_CAPS[unpaid.cap]})"
        yield "next", f"a question to {unpaid.model} for about {amount(unpaid.question)}"
    yield "work", "its files are kept: whoever goes on begins with them, also another runner"


_CAPS = {
    Cap.BUDGET: "the cost budget of the subtask",
    Cap.TASK: "task_cost_cap",
    Cap.DAY: "daily_cost_cap",
}


def ending(call: CallLine) -> str:
    """How a call ended, in a word."""
    if call.ended_at is None:
        return "lost" if call.lost else "running"
    return call.error or call.stop_reason or ""


def remark(call: CallLine) -> str:
    """What there is to say about a call besides its numbers; mostly nothing."""
    if call.lost:
        counted = "" if call.input_cost is None else f"; it counts for {_question_cost(call)}"
        return f"its worker is gone, so nobody knows what it cost{counted}"
    broke_off = "what came of its answer is an estimate" if call.estimated else ""
    return "; ".join(part for part in (call.reason, broke_off) if part)


def _question_cost(call: CallLine) -> str:
    return f"its question, {amount(call.input_cost or 0.0, estimated=True)}"


def _sums(calls: int, tokens: int | None, cost: str) -> str:
    counted = [] if tokens is None else [f"{tokens} tokens"]
    return ", ".join([count_of(calls, "call"), *counted, cost])


def _unknown(calls: int) -> str:
    return f" and the unknown cost of {calls}" if calls else ""
