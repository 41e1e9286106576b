"""What the client of a provider is asked for, and what it notes of the answer."""

from dataclasses import dataclass, field, replace
from typing import Protocol

from workers.llm.calls import Fault, ModelQuestion, Usage, estimate_tokens


@dataclass(slots=True)
class Heard:
    """The part of an answer that has arrived: it is paid for, however the call ends.

    `opened` is true once the other side answers, `begun` once its answer has the form of the
    provider's protocol. `stop_reason` is the provider's word for why the answer ended, None as long
    as it has not. `thought` is the length of the thinking that has arrived. `fault` says why a
    finished answer is incomplete.
    """

    opened: bool = False
    begun: bool = False
    pieces: list[str] = field(default_factory=list)
    thought: int = 0
    usage: Usage = field(default_factory=Usage)
    stop_reason: str | None = None
    request_id: str | None = None
    fault: Fault | None = None

    @property
    def text(self) -> str:
        """The answer as far as it has arrived."""
        return "".join(self.pieces)

    @property
    def characters(self) -> int:
        """The length of the answer and the thinking, as far as they have arrived."""
        return self.thought + sum(map(len, self.pieces))

    @property
    def estimated(self) -> bool:
        """Whether the provider has not said how many tokens it counts."""
        return self.begun and (self.stop_reason is None or not self.usage.output_tokens)

    def paid(self, question: ModelQuestion) -> Usage:
        """The tokens of the call, estimated as far as the provider has not said them."""
        if not self.estimated:
            return self.usage
        said = self.usage
        output = max(said.output_tokens, estimate_tokens(self.characters))
        if said.input_tokens or said.cache_read_tokens or said.cache_written_tokens:
            return replace(said, output_tokens=output)
        return Usage(input_tokens=estimate_tokens(question.characters), output_tokens=output)


class Client(Protocol):
    """Speaks the protocol of one provider through the provider's library.

    The library is imported with the first question: that takes seconds, and many workers never ask
    a model. Its HTTP client is made by `call_watch.interruptible`, so that a call can be ended from
    another thread. Thread-safe.
    """

    def listen(self, question: ModelQuestion, heard: Heard) -> None:
        """Send the question once and note in `heard` what arrives, until the answer has ended.

        Raises whatever the library raises, or an error of this program; what has arrived until then
        is in `heard`.
        """
        ...

    def close(self) -> None:
        """Close the connections; the next question opens new ones."""
        ...
