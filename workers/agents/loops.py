"""Finds an agent that moves but gets nowhere: it repeats itself; pure.

The history holds only what the rules look at, so it stays small. An agent that waits for something
repeats itself for a reason: polling is exempt, and breaks every row of repetitions. So does a tree
that the attempt has not had before.
"""

import hashlib
import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shared.domain.attempt_notes import Loop
from workers.agents.events import AgentEvent, Said, ToolCalled, ToolReturned, Unreadable

_MOST_TREES = 64
_MOST_CALLS = 64
_MOST_RETURNED = 256


@dataclass(frozen=True, slots=True)
class LoopLimits:
    """After how many repetitions an agent loops; 0 switches a rule off.

    A tool in `polling_tools`, or a command that starts a program of `polling_programs`, polls.
    """

    same_result: int = 4
    same_error: int = 3
    monologue: int = 3
    alternating: int = 6
    polling_tools: frozenset[str] = frozenset({"BashOutput", "TaskOutput", "Monitor", "wait"})
    polling_programs: frozenset[str] = frozenset({"sleep", "wait", "watch"})

    @property
    def longest(self) -> int:
        """How many moves the rules look back."""
        return max(self.same_result, self.same_error, self.monologue, self.alternating)


@dataclass(frozen=True, slots=True)
class Repetition:
    """A loop that was found, and how often the agent has gone round."""

    loop: Loop
    times: int


@dataclass(frozen=True, slots=True)
class OpenCall:
    """A call of a tool that has not returned; `action` is a digest of the tool and its arguments.

    `polls` says that it waits for something.
    """

    call: str
    action: str
    polls: bool


@dataclass(frozen=True, slots=True)
class Move:
    """A call that has returned; both texts are digests."""

    action: str
    result: str
    failed: bool


@dataclass(frozen=True, slots=True)
class MoveHistory:
    """What an agent did last. `said` are digests of texts since the last action.

    `returned` are the calls that have ended. The stream of a long run, whose middle its host takes
    out, may bring them again, and begins then with a torn line: `torn` says that it may do so
    until another call comes. `ids_repeat` says that the agent itself uses the id of a call again
    for the same action: then each call counts, since nobody can tell.
    """

    calls: tuple[OpenCall, ...] = ()
    moves: tuple[Move, ...] = ()
    said: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    returned: tuple[OpenCall, ...] = ()
    torn: bool = False
    ids_repeat: bool = False

    @property
    def in_tool(self) -> bool:
        """Whether a call has not returned."""
        return bool(self.calls)

    def hear(self, event: AgentEvent, limits: LoopLimits) -> "MoveHistory":
        """The history with this event."""
        match event:
            case Said(text=text):
                said = (*self.said, _digest(" ".join(text.split())))
                return replace(self, said=said[-limits.longest :])
            case ToolCalled(call=call, tool=tool, arguments=arguments):
                polls = _polls(tool, arguments, limits)
                return self._called(OpenCall(call, _digest(tool, arguments), polls))
            case ToolReturned():
                return self._returned(event, limits)
            case Unreadable():
                return replace(self, torn=True)
        return self

    def see_tree(self, tree: str | None) -> "MoveHistory":
        """The history once the files are in this state: a new one is a step forward."""
        if tree is None or tree in self.trees:
            return self
        trees = (*self.trees, tree)[-_MOST_TREES:]
        # The first tree is the one that the agent found.
        return replace(self.forgotten() if self.trees else self, trees=trees)

    def forgotten(self) -> "MoveHistory":
        """The history without its moves: only new repetitions count."""
        return replace(self, moves=(), said=())

    def repetition(self, limits: LoopLimits) -> Repetition | None:
        """The loop that the agent is in now; None while it is in none."""
        for loop, most, times in self._rows(limits):
            if most and times >= most:
                return Repetition(loop, times)
        return None

    def _rows(self, limits: LoopLimits) -> Iterator[tuple[Loop, int, int]]:
        """Each loop, its limit, and how many moves or texts in a row fit it."""
        last = self.moves[-1] if self.moves else None
        yield Loop.SAME_RESULT, limits.same_result, _row(self.moves, last)
        failures = [move.action if move.failed else None for move in self.moves]
        error = last.action if last is not None and last.failed else None
        yield Loop.SAME_ERROR, limits.same_error, _row(failures, error)
        yield (
            Loop.MONOLOGUE,
            limits.monologue,
            _row(self.said, self.said[-1] if self.said else None),
        )
        yield Loop.ALTERNATING, limits.alternating, _alternation(self.moves)

    def _called(self, opened: OpenCall) -> "MoveHistory":
        has_returned = opened.call != "" and opened in self.returned
        known = has_returned or (opened.call != "" and opened in self.calls)
        if known and self.torn and not self.ids_repeat:
            return replace(self, said=())
        return replace(
            self,
            calls=(*self.calls, opened)[-_MOST_CALLS:],
            said=(),
            torn=False,
            ids_repeat=self.ids_repeat or has_returned,
        )

    def _returned(self, event: ToolReturned, limits: LoopLimits) -> "MoveHistory":
        opened = next((each for each in self.calls if each.call == event.call), None)
        if opened is None:
            return self
        left = tuple(each for each in self.calls if each is not opened)
        returned = (*self.returned, opened)[-_MOST_RETURNED:]
        if opened.polls:
            return replace(self.forgotten(), calls=left, returned=returned)
        move = Move(opened.action, event.result_digest, event.failed)
        moves = (*self.moves, move)[-limits.longest :]
        return replace(self, calls=left, moves=moves, returned=returned)


def _row(given: Sequence[object], last: object | None) -> int:
    """How many values at the end are this one; 0 for None."""
    if last is None:
        return 0
    length = 0
    for each in reversed(given):
        if each != last:
            break
        length += 1
    return length


def _alternation(moves: tuple[Move, ...]) -> int:
    """How many moves at the end are two different ones in turn."""
    if len(moves) < 2 or moves[-1].action == moves[-2].action:  # noqa: PLR2004 - a pair
        return 0
    pair = (moves[-1], moves[-2])
    length = 0
    for position, move in enumerate(reversed(moves)):
        if move != pair[position % 2]:
            break
        length += 1
    return length


def _polls(tool: str, arguments: str, limits: LoopLimits) -> bool:
    if tool in limits.polling_tools:
        return True
    return not limits.polling_programs.isdisjoint(_words(arguments))


def _words(arguments: str) -> Iterator[str]:
    """The words of the command in the arguments of a shell tool."""
    try:
        given = json.loads(arguments)
    except ValueError:
        return
    command = given.get("command", given.get("cmd")) if isinstance(given, dict) else None
    parts = [command] if isinstance(command, str) else command
    for part in parts if isinstance(parts, list) else ():
        try:
            yield from shlex.split(str(part).replace(";", " ; "))
        except ValueError:
            yield from str(part).split()


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
