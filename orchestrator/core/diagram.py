"""State diagrams in Mermaid, drawn from the transition tables; a document may hold them."""

import argparse
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeVar

from orchestrator.core.transitions import STEP_TRANSITIONS, TASK_TRANSITIONS

BEGIN = "<!-- diagrams: begin (python -m orchestrator.core.diagram --write docs/transitions.md) -->"
END = "<!-- diagrams: end -->"

Phase = TypeVar("Phase", bound=StrEnum)


def diagram(table: Mapping[Phase, Mapping[type, frozenset[Phase]]]) -> str:
    """One table as a Mermaid state diagram; arrows carry the facts, in the table's order."""
    phases = list(table)
    lines = ["stateDiagram-v2", f"    [*] --> {phases[0]}"]
    for old in phases:
        for new in phases:
            facts = [kind.__name__ for kind, allowed in table[old].items() if new in allowed]
            if facts:
                lines.append(f"    {old} --> {new}: {', '.join(facts)}")
    last = [p for p in phases if all(allowed <= {p} for allowed in table[p].values())]
    lines += [f"    {phase} --> [*]" for phase in last]
    return "\n".join(lines)


def section() -> str:
    """The diagrams as Markdown, between the markers that hold their place in a document."""
    drawn = {"A step in a run": diagram(STEP_TRANSITIONS), "A task": diagram(TASK_TRANSITIONS)}
    parts = [f"## {title}\n\n```mermaid\n{text}\n```" for title, text in drawn.items()]
    return "\n\n".join([BEGIN, *parts, END])


def renew(document: str) -> str:
    """The document with its diagrams as the tables are now; raises ValueError without markers."""
    before, begin, rest = document.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the lines {BEGIN!r} and {END!r} must both stand in it, in this order")
    return before + section() + after


def main(arguments: Sequence[str] | None = None) -> None:
    """Print, check or write; exits with 1 when a document is out of date, 2 when it is unfit."""
    parser = argparse.ArgumentParser(prog="python -m orchestrator.core.diagram")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", metavar="FILE", help="fail if FILE is out of date")
    what.add_argument("--write", metavar="FILE", help="bring FILE up to date")
    chosen = parser.parse_args(arguments)
    path: str | None = chosen.check or chosen.write
    if path is None:
        print(section())  # noqa: T201 - the one thing it was called for
        return
    try:
        document = _read(path)
        current = renew(document)
        if chosen.write:
            _write(path, current)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{path}: {error}\n")
    if chosen.check and document != current:
        again = f"{parser.prog} --write {path}"
        parser.exit(1, f"{path}: the diagrams are out of date; run: {again}\n")


# Plain `open`: the core imports nothing that could reach the world.


def _read(path: str) -> str:
    with open(path, encoding="utf-8") as file:  # noqa: PTH123
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)


if __name__ == "__main__":
    main()
