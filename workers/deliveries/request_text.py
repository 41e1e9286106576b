"""The title and the text of a request to merge, from what the session knows; pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shared.visible import visible

_BEGIN, _END = "<!-- replan: begin -->", "<!-- replan: end -->"
_OURS = re.compile(f"{re.escape(_BEGIN)}.*?{re.escape(_END)}", re.DOTALL)

_LONGEST_TITLE: Final = 200
_LONGEST_CELL: Final = 120
_MOST_ROWS: Final = 200


@dataclass(frozen=True, slots=True)
class AcceptedDelivery:
    """A delivery of a session as a reader of a forge sees it; `reviewer` is None if there is none.

    `number` counts what the session has accepted, `files`, `added` and `deleted` its changes, and
    `checks` those that it has passed.
    """

    number: int
    issue: str
    title: str
    runner: str | None
    sha256: str
    files: int
    added: int
    deleted: int
    checks: int
    reviewer: str | None = None


@dataclass(frozen=True, slots=True)
class RequestText:
    """The title, and our part of the text."""

    title: str
    part: str

    @property
    def whole(self) -> str:
        """The text of a new request."""
        return f"{_BEGIN}\n{self.part}\n{_END}\n"


def request_text(
    ref: str, goal: str, deliveries: Sequence[AcceptedDelivery], head: str, tree: str
) -> RequestText:
    """What a request for the session `ref` says, which is to reach that `goal`.

    Everything that an agent or a plan has written stands as code: it mentions nobody, links to
    nothing and closes nothing.
    """
    first = visible(goal.strip()).partition("\n")[0].strip()
    title = f"{ref}: {first}" if first else ref
    lines = [
        f"Session {_code(ref)}: each of these deliveries has passed its checks on exactly the tree "
        "that was accepted with it.",
        "",
        "| | issue | what | by | files | lines | checks | reviewed by |",
        "|---|---|---|---|---|---|---|---|",
        *map(_row, deliveries[:_MOST_ROWS]),
    ]
    if len(deliveries) > _MOST_ROWS:
        lines += ["", f"and {len(deliveries) - _MOST_ROWS} more"]
    lines += ["", f"Head {_code(head)}, tree {_code(tree)}."]
    return RequestText(_shortened(title, _LONGEST_TITLE), "\n".join(lines))


def merged_text(present: str, text: RequestText) -> str:
    """The text of an open request with our part brought up to date; without one it stays."""
    ours = text.whole.strip()
    return _OURS.sub(lambda _: ours, present, count=1)


def _row(delivery: AcceptedDelivery) -> str:
    cells = (
        str(delivery.number),
        _code(delivery.issue),
        _code(delivery.title),
        _code(delivery.runner or "commands"),
        str(delivery.files),
        f"+{delivery.added} -{delivery.deleted}",
        str(delivery.checks),
        _code(delivery.reviewer) if delivery.reviewer else "",
    )
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """As a span of code in a cell of a table; what would end either is replaced."""
    plain = " ".join(visible(text).split())
    for ends, instead in (("`", "'"), ("|", "/"), ("<!--", "<!-")):
        plain = plain.replace(ends, instead)
    return f"`{_shortened(plain, _LONGEST_CELL)}`" if plain else ""


def _shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
