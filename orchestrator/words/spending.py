"""The model calls of a task and their cost, in words."""

from orchestrator.views.spending import Spending, SpendingLine


def summary_lines(spent: Spending) -> tuple[str, ...]:
    """The sums in words, a line for each role and place; empty when no model was asked."""
    if not spent.calls:
        return ()
    capped = "" if spent.cap is None else f" of ${spent.cap:.2f}"
    whole = f"models: {_of(spent.calls, spent.tokens, spent.cost, spent.unknown)}{capped}"
    return (whole, *(f"  {line.ref} {line.role}: {_line_text(line)}" for line in spent.lines))


def _line_text(line: SpendingLine) -> str:
    tokens = (
        f"{line.input_tokens} tokens in, {line.cache_read_tokens} from the cache, "
        f"{line.cache_written_tokens} into it, {line.output_tokens} out"
    )
    return f"{_of(line.calls, None, line.cost, line.unknown)}, {tokens}, {line.seconds:.1f} s"


def _of(calls: int, tokens: int | None, cost: float, unknown: int) -> str:
    counted = f"{calls} call{'s' if calls != 1 else ''}"
    parts = [counted, *([] if tokens is None else [f"{tokens} tokens"]), f"${cost:.4f}"]
    return ", ".join(parts) + (f" and the unknown cost of {unknown}" if unknown else "")
