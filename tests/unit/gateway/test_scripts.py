"""Scripts and recordings: what is in the files, and what is refused."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from shared.domain.errors import Rejected
from shared.secrets.masking import Masker
from shared.secrets.value import Secret
from shared.settings import ServerSettings
from tests.unit.gateway.chain import KEY
from workers.gateway.accounts import NoAccounts
from workers.gateway.app import Gateway
from workers.gateway.recording import RecordingUpstream, ReplayedUpstream
from workers.gateway.run import GatewayOrder, run_gateway
from workers.gateway.script import parse_script, read_script
from workers.gateway.scripted import ScriptedUpstream
from workers.gateway.serving import serving
from workers.gateway.upstream import Upstream

FIRST: Any = {"role": "user", "content": "one"}
ROUNDS: Any = [FIRST, {"role": "assistant", "content": "x"}, {"role": "user", "content": "two"}]


def ask(upstream: Upstream, *conversations: Any, stream: bool = True) -> list[str]:
    """What the gateway answers to each conversation, byte for byte; `cut` for one that broke."""
    answers = []
    with serving(Gateway(upstream, NoAccounts())) as where:
        for messages in conversations:
            body = {"model": "m", "max_tokens": 9, "messages": messages, "stream": stream}
            try:
                answer = httpx2.post(
                    f"{where.url}/v1/messages", json=body, headers={"x-api-key": "t"}
                )
            except httpx2.RemoteProtocolError:
                answers.append("cut")
            else:
                answers.append(answer.text)
    return answers


@pytest.mark.parametrize(
    ("written", "why"),
    [
        ("", "has `turns` or `cases`"),
        ("turns: 5", "`turns` is not a list"),
        ("turns: [[{txt: hello}]]", "name exactly one of text, tool"),
        ("turns: [[{text: a, tool: b}]]", "name exactly one of"),
        ("turns: [[{text: a, inpt: b}]]", "inpt is not known"),
        ("turns: [[{tool: Bash, input: ls}]]", "the input of a tool is an object"),
        ("turns: [[{status: 200}]]", "400 to 599"),
        ("turns: [[{sleep: forever}]]", "is not a number of seconds"),
        ("turns: [[{usage: 5}]]", "usage has `input`"),
        ("tunrs: []", "tunrs is not known"),
        ("turns: [", "not valid YAML"),
    ],
)
def test_a_script_that_is_not_valid_says_why(tmp_path: Path, written: str, why: str) -> None:
    path = tmp_path / "script.yaml"
    path.write_text(written)
    with pytest.raises(Rejected) as refused:
        read_script(path)
    assert why in refused.value.reason
    assert str(path) in refused.value.reason


def test_the_case_that_fits_the_conversation_answers() -> None:
    told = {
        "cases": [
            {"when": "two", "offset": 1, "turns": [[{"text": "Second."}]]},
            {"when": "one", "turns": [[{"text": "First."}]]},
        ]
    }
    first, second, other = ask(
        ScriptedUpstream(parse_script(told)),
        [FIRST],
        ROUNDS,
        [{"role": "user", "content": "three"}],
        stream=False,
    )
    assert ("First." in first, "Second." in second, "no more turns" in other) == (True,) * 3


def test_what_was_recorded_is_answered_again_byte_for_byte(tmp_path: Path) -> None:
    """An equal question gets its answer, an unequal one that of the same round."""
    script = parse_script([[{"text": f"It is {KEY}."}], [{"text": "x"}, {"cut": True}]])
    keys = Masker([Secret("ANTHROPIC_API_KEY", KEY)])
    recorded = RecordingUpstream(ScriptedUpstream(script), tmp_path, keys)
    first, second = ask(recorded, [FIRST], ROUNDS)
    replayed = ReplayedUpstream(tmp_path)
    other: Any = [{"role": "user", "content": "asked on another day"}]
    again, broken, alike = ask(replayed, [FIRST], ROUNDS, other)
    assert (second, broken) == ("cut", "cut")
    assert again == alike == first.replace(KEY, "‹secret:ANTHROPIC_API_KEY›")
    assert not any(KEY in path.read_text() for path in tmp_path.iterdir())


def test_what_is_not_a_recording_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="empty or missing"):
        ReplayedUpstream(tmp_path / "none")
    (tmp_path / "00001.json").write_text("[]")
    with pytest.raises(Rejected, match="cannot be read"):
        ReplayedUpstream(tmp_path)


@pytest.mark.parametrize(
    ("order", "why"),
    [
        (GatewayOrder(standalone=True), "needs a --script or a --replay"),
        (GatewayOrder(listen="nowhere"), "does not name a host and a port"),
        (GatewayOrder(listen="[::1:8791"), "does not name a host and a port"),
        (GatewayOrder(listen="x:99999"), "does not name a host and a port"),
    ],
)
def test_an_order_that_cannot_be_followed_is_refused(order: GatewayOrder, why: str) -> None:
    with pytest.raises(Rejected, match=why):
        run_gateway(ServerSettings(), order, {})


def test_others_reach_it_only_where_the_command_line_says_so() -> None:
    with pytest.raises(Rejected, match=r"--listen 10\.0\.0\.1:80"):
        run_gateway(ServerSettings(gateway_url="http://10.0.0.1:80"), GatewayOrder(), {})
