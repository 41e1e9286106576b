"""The form of errors of both protocols of OpenAI."""

from typing import Final

from workers.gateway.faults import FaultKind, Refusal
from workers.gateway.protocols.protocol import Json

_TYPES: Final = {
    FaultKind.SPENDING: "insufficient_quota",
    FaultKind.UPSTREAM_REFUSED: "api_error",
    FaultKind.UNAVAILABLE: "api_error",
    FaultKind.DEFECT: "server_error",
}


def error_body(refusal: Refusal) -> Json:
    """The body of an error answer."""
    kind = _TYPES.get(refusal.kind, "invalid_request_error")
    return {
        "error": {
            "message": refusal.reason,
            "type": kind,
            "param": None,
            "code": refusal.kind.value,
        }
    }
