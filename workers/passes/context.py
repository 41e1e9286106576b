"""What the parts of a pass share."""

from dataclasses import dataclass

from workers.passes.approval_gate import ApprovalGate
from workers.passes.clock import Clock
from workers.passes.history import History
from workers.passes.means import Means
from workers.passes.ports import Approvals, PassLog, PassOrder
from workers.passes.recorder import Recorder


@dataclass(frozen=True, slots=True)
class PassContext:
    """One pass: its order, its means, what it knows so far, and where it records that."""

    order: PassOrder
    means: Means
    log: PassLog
    clock: Clock
    history: History
    recorder: Recorder
    gate: ApprovalGate

    @classmethod
    def of(
        cls,
        order: PassOrder,
        means: Means,
        log: PassLog,
        clock: Clock,
        approvals: Approvals | None,
    ) -> "PassContext":
        """The context of a new pass."""
        history = History(order, means.waits, means.settles)
        recorder = Recorder(order, history, log, clock)
        gate = ApprovalGate(means, recorder, order.policy, approvals)
        return cls(order, means, log, clock, history, recorder, gate)
