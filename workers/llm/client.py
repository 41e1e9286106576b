"""What the client of a provider is asked for, and what it notes of the answer."""

from dataclasses import dataclass, field
from typing import Protocol

from workers.llm.calls import ModelQuestion, Usage


@dataclass(slots=True)
class Heard:
    """The part of an answer that has arrived: it is paid for, however the call ends.

    `opened` is true once the other side answers, `begun` once its answer has the form of the
    provider's protocol. `stop_reason` is the provider's word for why the answer ended, None as long
    as it has not. `fault` says, in words for the model, why a finished answer is incomplete.
    """

    opened: bool = False
    begun: bool = False
    pieces: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    request_id: str | None = None
    fault: str = ""

    @property
    def text(self) -> str:
        """The answer as far as it has arrived."""
        return "".join(self.pieces)


class Client(Protocol):
    """Speaks the protocol of one provider through the provider's library.

    The library is imported with the first question: that takes seconds, and many workers never ask
    a model. Thread-safe.
    """

    def listen(self, question: ModelQuestion, heard: Heard) -> None:
        """Send the question once and note in `heard` what arrives, until the answer has ended.

        Raises whatever the library raises, or an error of this program.
        """
        ...

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        ...
