"""What holds for requests to merge on each kind of forge, over real HTTP."""

import pickle
from collections.abc import Iterator

import pytest

from shared.domain.errors import Misconfigured, Rejected, ReplanError, Unavailable
from shared.domain.next_step import command_line
from shared.domain.target import ForgeKind, Repository
from tests.fakes.forge import PROJECT, TOKEN, ScriptedForge
from workers.deliveries.forges.client import ForgeClient
from workers.deliveries.request_text import RequestText

BRANCH = "session/T12"
TEXT = RequestText("T12@app: fix it", "one delivery")


@pytest.fixture(params=ForgeKind, scope="module")
def served(request: pytest.FixtureRequest) -> Iterator[ScriptedForge]:
    """A forge of each kind."""
    with ScriptedForge.serving(request.param) as forge:
        yield forge


@pytest.fixture
def forge(served: ScriptedForge) -> ScriptedForge:
    """A forge of each kind at which nothing has happened yet."""
    for each in (served.open, served.asked, served.faults):
        each.clear()
    return served


def client(forge: ScriptedForge, token: str = TOKEN, **changes: str) -> ForgeClient:
    """Somebody who asks that forge."""
    repository = Repository("app", "localhost", "/src", forge=forge.entry(**changes))
    return ForgeClient(repository, token)


def test_a_request_is_opened_once(forge: ScriptedForge) -> None:
    first = client(forge).have_open(BRANCH, TEXT)
    again = client(forge).have_open(BRANCH, TEXT)

    (made,) = forge.open
    assert (made.source, made.into, made.title) == (BRANCH, "main", "T12@app: fix it")
    assert "one delivery" in made.text
    assert (first.number, first.opened) == (1, True)
    assert (again.number, again.opened, again.url) == (1, False, first.url)
    assert forge.asked == ["GET", "POST", "GET"]


def test_our_part_of_its_text_follows_and_theirs_stays(forge: ScriptedForge) -> None:
    client(forge).have_open(BRANCH, TEXT)
    (made,) = forge.open
    made.title = "mine"
    made.text = f"hello\r\n{made.text}\r\nbye"

    client(forge).have_open(BRANCH, RequestText("other", r"two \1 deliveries"))

    assert made.title == "mine"
    assert made.text.startswith("hello\n")
    assert made.text.endswith("bye")
    assert r"two \1 deliveries" in made.text
    assert "one delivery" not in made.text


def test_a_text_without_our_part_stays(forge: ScriptedForge) -> None:
    made = forge.add(BRANCH, text="by hand")
    assert client(forge).have_open(BRANCH, TEXT).number == made.number
    assert made.text == "by hand"


def test_a_request_of_a_fork_or_to_another_branch_is_another_one(forge: ScriptedForge) -> None:
    forge.add(BRANCH, owner="somebody/app")
    forge.add(BRANCH, into="next")
    assert client(forge).have_open(BRANCH, TEXT).opened


def test_it_is_found_behind_many_others(forge: ScriptedForge) -> None:
    for number in range(120):
        forge.add(f"feature/{number}")
    forge.add(BRANCH)
    assert client(forge).have_open(BRANCH, TEXT).number == 121


def test_a_lost_answer_is_resolved_by_looking(forge: ScriptedForge) -> None:
    """The forge has opened it, and its answer never came."""
    forge.fail("POST", done=True)
    assert client(forge).have_open(BRANCH, TEXT).opened
    assert (len(forge.open), forge.asked) == (1, ["GET", "POST", "GET"])


def test_a_request_that_did_not_arrive_is_not_repeated_blindly(forge: ScriptedForge) -> None:
    forge.fail("POST")
    with pytest.raises(Unavailable):
        client(forge).have_open(BRANCH, TEXT)
    assert (forge.open, forge.asked) == ([], ["GET", "POST", "GET"])
    assert client(forge).have_open(BRANCH, TEXT).opened


def test_whoever_was_faster_has_opened_it(forge: ScriptedForge) -> None:
    """The list was empty, and then there is one."""
    forge.add(BRANCH)
    forge.fail("GET", 200, body="[]")
    found = client(forge).have_open(BRANCH, TEXT)
    assert (found.number, found.opened, len(forge.open)) == (1, False, 1)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    ("status", "headers", "kind", "named"),
    [
        (400, {}, Rejected, "repo show app"),
        (401, {}, Misconfigured, "secret set FORGE_TOKEN"),
        (403, {}, Misconfigured, "secret set FORGE_TOKEN"),
        (403, {"X-RateLimit-Remaining": "0", "Retry-After": "7"}, Unavailable, None),
        (404, {}, Misconfigured, "repo show app"),
        (409, {}, Rejected, "repo show app"),
        (422, {}, Rejected, "repo show app"),
        (429, {"Retry-After": "7"}, Unavailable, None),
        (500, {}, Unavailable, None),
        (503, {"Retry-After": "7"}, Unavailable, None),
        (301, {"Location": "https://elsewhere.example/"}, Misconfigured, "repo show app"),
    ],
)
def test_every_refusal_says_who_must_act(
    forge: ScriptedForge,
    *,
    method: str,
    status: int,
    headers: dict[str, str],
    kind: type[ReplanError],
    named: str | None,
) -> None:
    forge.fail(method, status, headers=headers, body=f'{{"message": "so is {TOKEN}"}}')
    with pytest.raises(kind) as caught:
        client(forge).have_open(BRANCH, TEXT)

    error = caught.value
    assert error.stage == "request"
    assert TOKEN not in repr(error)
    assert command_line(error.next_step) == (named and f"replan {named}")
    if "Retry-After" in headers:
        assert isinstance(error, Unavailable)
        assert error.retry_after == 7
    if status != 301:
        assert f"answers {status} about {PROJECT}: so is ***" in error.reason
    assert forge.open == []


@pytest.mark.parametrize("body", ["<html>sign in</html>", "{}", '["x"]', '[{"number": null}]'])
def test_what_is_no_forge_is_not_taken_for_one(forge: ScriptedForge, body: str) -> None:
    forge.fail("GET", 200, body=body)
    with pytest.raises(Misconfigured, match="is not the interface of"):
        client(forge).have_open(BRANCH, TEXT)


def test_another_token_is_refused_and_never_shown(forge: ScriptedForge) -> None:
    with pytest.raises(Misconfigured) as caught:
        client(forge, "0ther-token").have_open(BRANCH, TEXT)
    assert "0ther-token" not in repr(caught.value)
    assert b"0ther-token" not in pickle.dumps(caught.value.args)


@pytest.mark.parametrize("token", ["", " \n", "two\nlines", "t\u00f6ken"])
def test_a_secret_that_is_no_token_is_never_sent(forge: ScriptedForge, token: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        client(forge, token)
    assert "FORGE_TOKEN" in caught.value.reason
    assert forge.asked == []


def test_an_unknown_project_is_said(forge: ScriptedForge) -> None:
    with pytest.raises(Misconfigured, match="no such project"):
        client(forge, project="owner/other").have_open(BRANCH, TEXT)


def test_a_forge_that_is_away_is_waited_for(forge: ScriptedForge) -> None:
    with pytest.raises(Unavailable, match="does not answer"):
        client(forge, api="http://127.0.0.1:1/base").have_open(BRANCH, TEXT)
