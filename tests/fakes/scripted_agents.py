"""An imagined workspace, and a runner whose stream a test writes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from shared.domain.attempt import AgentStatus, EndedBy
from shared.domain.question import Question
from shared.domain.workspace import WorkspaceRemarks
from workers.agents.events import AgentEvent, Asked, EndReason, RunnerEnded, Said, UsageReported
from workers.agents.runners.port import AgentOrder, Capabilities, Invocation, RunnerOutcome
from workers.agents.workspaces.values import Snapshot


@dataclass
class ScriptedBench:
    """A workspace that holds one tree after another; the last one stays."""

    trees: Iterable[str] = ("tree0", "tree1")
    path: str = "/workspace"
    base: str = "base"
    homes: str = "/homes"
    remarks: WorkspaceRemarks = field(default_factory=WorkspaceRemarks)
    snapshots: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._coming = iter(self.trees)
        self._tree = ""

    def snapshot(self, label: str, *, whole: bool = False) -> Snapshot:
        """The next tree."""
        self.snapshots.append(f"{label}, whole" if whole else label)
        self._tree = next(self._coming, self._tree)
        return Snapshot(self._tree)

    def close(self) -> None:
        """Nothing to release."""

    def changed(self, base: str, tree: str) -> tuple[str, ...]:
        """One file, unless the tree is the first one."""
        return () if tree in {base, "tree0"} else (f"changed-in-{tree}",)


class LineReader:
    """Reads a line for each event: `say TEXT`, `ask TEXT`, `use TOKENS`, `end STATUS TEXT`."""

    def __init__(self) -> None:
        self.ended = False
        self._rest = b""
        self._asked: Asked | None = None
        self._usage: UsageReported | None = None
        self._end: RunnerEnded | None = None

    def feed(self, chunk: bytes) -> list[AgentEvent]:
        """The events of whole lines."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        return [event for line in lines for event in self._read(line.decode())]

    def outcome(
        self,
        exit_code: int | None,
        ended_by: EndedBy | None = None,
        stderr: bytes = b"",  # noqa: ARG002
    ) -> RunnerOutcome:
        """As the last line says; without one, by the exit code."""
        end = self._end
        if ended_by is EndedBy.TIMEOUT:
            return RunnerOutcome(AgentStatus.TIMEOUT, EndReason.INTERRUPTED)
        if end is None:
            status = AgentStatus.OK if exit_code == 0 else AgentStatus.ERROR
            return RunnerOutcome(status, EndReason.EXIT_CODE, usage=self._usage)
        return RunnerOutcome(
            end.status,
            end.reason,
            end.summary,
            session="session",
            question=self._asked,
            usage=self._usage,
        )

    def _read(self, line: str) -> Iterable[AgentEvent]:
        word, _, rest = line.partition(" ")
        match word:
            case "say":
                yield Said(rest)
            case "use":
                self._usage = UsageReported(int(rest), 0, 0, Decimal("0.5"))
                yield self._usage
            case "ask":
                self._asked = Asked(Question(rest), "call", deferred=True)
                yield self._asked
            case "end":
                status, _, summary = rest.partition(" ")
                self.ended = True
                self._end = RunnerEnded(AgentStatus(status), summary, None, EndReason.COMPLETED)
                yield self._end


@dataclass
class ScriptedRunner:
    """Its command names itself and the goal; what that prints is up to the shell of the test."""

    name: str = "scripted"
    program: str = "agent"
    capabilities: Capabilities = field(default_factory=Capabilities)
    orders: list[AgentOrder] = field(default_factory=list)

    def invocation(self, order: AgentOrder) -> Invocation:
        """Its name and the goal."""
        self.orders.append(order)
        argv = (self.program, self.name, order.assignment.goal)
        return Invocation(argv, {}, order.workspace, order.home)

    def reader(self) -> LineReader:
        """A reader of lines."""
        return LineReader()
