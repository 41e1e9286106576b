"""The envelope of S2.39 that every answer of a face comes in, and what an error means there."""

from dataclasses import dataclass
from typing import Any, Final

from shared.domain.errors import ReplanError
from shared.domain.exits import ExitCode, code_of
from shared.domain.next_step import Advice, NextStep, command_line
from shared.wire import to_json

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Envelope:
    """An answer of the kind `task.show`; `details` is a value that becomes JSON."""

    kind: str
    code: ExitCode = ExitCode.DONE
    stage: str | None = None
    reason: str | None = None
    next_step: Advice | None = None
    details: Any = None

    @property
    def ok(self) -> bool:
        """True when what was asked for is so."""
        return self.code is ExitCode.DONE

    def to_json(self) -> dict[str, Any]:
        """The one JSON object of S2.39."""
        return {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "ok": self.ok,
            "stage": self.stage,
            "reason": self.reason,
            "next_step_cmd": command_line(self.next_step),
            "details": None if self.details is None else to_json(self.details),
        }


def of_error(kind: str, error: ReplanError) -> Envelope:
    """The envelope of what could not be done; without a next step, the help of the verb is one."""
    return Envelope(
        kind=kind,
        code=code_of(error),
        stage=error.stage,
        reason=str(error),
        next_step=error.next_step or help_of(kind),
    )


def help_of(kind: str) -> NextStep:
    """The help of a verb (`task.show`), of a group of them, or of the whole program."""
    return NextStep.of("" if kind == "replan" else kind.replace(".", " "), help=True)
