"""The subject and the tone of a message."""

from enum import StrEnum
from typing import TypeAlias


class MessageKind(StrEnum):
    """The subject of a message."""

    TASK = "task"
    PLAN = "plan"
    STEP_STARTED = "step_started"  # S0.76
    STEP_ENDED = "step_ended"
    SUBTASK = "subtask"  # S0.77
    ERROR = "error"  # S0.78
    CORRECTION = "correction"  # S0.78
    AGENT = "agent"
    ESCALATION = "escalation"  # S0.79
    REVISION = "revision"
    INTERVENTION = "intervention"
    DELIVERY = "delivery"
    CHECKPOINT = "checkpoint"
    REPORT = "report"  # S0.80


class Tone(StrEnum):
    """The tone of a message, which sets its colour."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"
    ATTENTION = "attention"


Words: TypeAlias = tuple[MessageKind, Tone, str]
"""The kind, tone and text of a message."""
