"""The tokens of an answer, as each protocol of OpenAI tells them."""

import json
from typing import Any, Final

import pytest

from workers.gateway.protocols.protocol import ApiProtocol
from workers.gateway.routes import CHAT, RESPONSES
from workers.llm.calls import Usage

DETAILS: Final = {"cached_tokens": 200, "cache_write_tokens": 300}
ANSWERS: Final[dict[str, tuple[ApiProtocol, Any]]] = {
    "chat": (
        CHAT,
        {"prompt_tokens": 1000, "completion_tokens": 7, "prompt_tokens_details": DETAILS},
    ),
    "responses": (
        RESPONSES,
        {"input_tokens": 1000, "output_tokens": 7, "input_tokens_details": DETAILS},
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_is_written_to_the_cache_is_no_plain_input(name: str) -> None:
    protocol, usage = ANSWERS[name]
    reader = protocol.reader(streamed=False)
    reader.feed(json.dumps({"choices": [], "output": [], "usage": usage}).encode())
    reader.finish()
    assert reader.heard.counted
    assert reader.heard.usage == Usage(
        input_tokens=500, cache_read_tokens=200, cache_written_tokens=300, output_tokens=7
    )
