"""The providers' own libraries, answered by the gateway from a script."""

from collections.abc import Callable
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from tests.fakes.gateway import ScriptedGateway, scripted_gateway

CALLS_BASH = [{"text": "I look."}, {"tool": "Bash", "input": {"command": "ls -l"}}]
SAYS_DONE = {"text": "Done."}
FIRST: Any = {"role": "user", "content": "List the files."}
SECOND: tuple[Any, ...] = (
    {"role": "assistant", "content": "I look."},
    {"role": "user", "content": "Well?"},
)


def anthropic_of(gateway: ScriptedGateway) -> anthropic.Anthropic:
    """The client of the Messages API."""
    return anthropic.Anthropic(api_key="any", base_url=gateway.url, max_retries=0)


def openai_of(gateway: ScriptedGateway) -> openai.OpenAI:
    """The client of Chat Completions and Responses."""
    return openai.OpenAI(api_key="any", base_url=f"{gateway.url}/v1", max_retries=0)


def ask_messages(gateway: ScriptedGateway, *, stream: bool) -> tuple[str, Any]:
    with anthropic_of(gateway) as client:
        asked: Any = {"model": "m", "max_tokens": 100, "messages": [FIRST]}
        if stream:
            with client.messages.stream(**asked) as answer:
                message: Any = answer.get_final_message()
        else:
            message = client.messages.create(**asked)
    text, tool = message.content
    assert message.stop_reason == "tool_use"
    return text.text, (tool.name, tool.input)


def ask_chat(gateway: ScriptedGateway, *, stream: bool) -> tuple[str, Any]:
    with openai_of(gateway) as client:
        asked: Any = {"model": "m", "messages": [FIRST]}
        if stream:
            with client.chat.completions.stream(**asked) as answer:
                completion: Any = answer.get_final_completion()
        else:
            completion = client.chat.completions.create(**asked)
    (choice,) = completion.choices
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert call.function.arguments == '{"command": "ls -l"}'
    return choice.message.content, (call.function.name, {"command": "ls -l"})


def ask_responses(gateway: ScriptedGateway, *, stream: bool) -> tuple[str, Any]:
    with openai_of(gateway) as client:
        asked: Any = {"model": "m", "input": [FIRST]}
        if stream:
            with client.responses.stream(**asked) as answer:
                response: Any = answer.get_final_response()
        else:
            response = client.responses.create(**asked)
    call = response.output[1]
    assert call.arguments == '{"command": "ls -l"}'
    return response.output_text, (call.name, {"command": "ls -l"})


def ask_gemini(gateway: ScriptedGateway, *, stream: bool) -> tuple[str, Any]:
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": "List the files."}]}]}
    answer = httpx2.post(
        f"{gateway.url}/v1beta/models/m:{method}", json=body, headers={"x-goog-api-key": "any"}
    )
    lines = [line[6:] for line in answer.text.splitlines() if line.startswith("data: ")]
    chunks = [httpx2.Response(200, content=line).json() for line in lines or [answer.text]]
    parts = [part for chunk in chunks for part in chunk["candidates"][0]["content"]["parts"]]
    assert chunks[-1]["usageMetadata"]["candidatesTokenCount"] > 0
    (call,) = [part["functionCall"] for part in parts if "functionCall" in part]
    return "".join(part.get("text", "") for part in parts), (call["name"], call["args"])


Ask = Callable[..., tuple[str, Any]]


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])
@pytest.mark.parametrize("ask", [ask_messages, ask_chat, ask_responses, ask_gemini])
def test_each_client_reads_a_text_and_a_call_of_a_tool(ask: Ask, *, stream: bool) -> None:
    with scripted_gateway(CALLS_BASH) as gateway:
        assert ask(gateway, stream=stream) == ("I look.", ("Bash", {"command": "ls -l"}))


def test_the_turn_is_the_number_of_times_the_model_has_spoken() -> None:
    """However often it is asked: a retry gets the same answer again."""
    with scripted_gateway(CALLS_BASH, SAYS_DONE) as gateway, openai_of(gateway) as client:
        for _ in range(2):
            second: Any = client.chat.completions.create(
                model="m",
                messages=[FIRST, *SECOND],
            )
            assert second.choices[0].message.content == "Done."
        third: Any = client.responses.create(model="m", input=[FIRST, *SECOND])
        assert third.output_text == "Done."
    assert len(gateway.requests) == 3


def test_an_answer_that_breaks_off_shows_as_broken() -> None:
    with (
        scripted_gateway([{"text": "I begin"}, {"cut": True}]) as gateway,
        anthropic_of(gateway) as client,
        pytest.raises(httpx2.RemoteProtocolError),
        client.messages.stream(model="m", max_tokens=9, messages=[FIRST]) as answer,
    ):
        answer.get_final_message()


def test_an_error_is_given_as_often_as_the_script_says() -> None:
    failing = [{"status": 529, "headers": {"x-should-retry": "true"}, "times": 2}, SAYS_DONE]
    with scripted_gateway(failing) as gateway, anthropic_of(gateway) as client:
        again = client.with_options(max_retries=2)
        message: Any = again.messages.create(model="m", max_tokens=9, messages=[FIRST])
    assert message.content[0].text == "Done."
    assert len(gateway.requests) == 3


def test_tokens_are_counted_and_models_listed() -> None:
    with scripted_gateway() as gateway, anthropic_of(gateway) as client:
        counted = client.messages.count_tokens(model="m", messages=[FIRST])
        assert counted.input_tokens > 0
        assert [model.id for model in client.models.list()] == ["scripted"]
        with openai_of(gateway) as other:
            assert [model.id for model in other.models.list()] == ["scripted"]
