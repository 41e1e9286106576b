"""What README tells to type in production, typed as it stands, starts all that is needed."""

import re
import shlex
from typing import Final

import pytest

from orchestrator.process_command import HOME
from shared.domain.jobs import QueueName
from tests.integration.deploy.test_systemd import parse
from workers.wiring import queues_of

BLOCKS: Final = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.fixture
def block() -> list[list[str]]:
    """The commands of the one block that starts a coordinator."""
    text = (HOME / "README.md").read_text(encoding="utf-8")
    (found,) = [each for each in BLOCKS.findall(text) if "replan coordinator start" in each]
    lines = (shlex.split(line, comments=True) for line in found.splitlines())
    return [words for words in lines if words]


def test_every_queue_has_somebody(block: list[list[str]]) -> None:
    started = [words[3:] for words in block if words[:3] == ["replan", "worker", "start"]]
    named = [[word for word in words if word.isidentifier()] for words in started]
    assert {queue for each in named for queue in queues_of(each)} == set(QueueName)


def test_it_begins_with_the_servers_and_each_line_is_understood(block: list[list[str]]) -> None:
    verbs = [" ".join(words[1:3]) for words in block if words[0] == "replan"]
    assert [words[0] for words in block].index("export") == 0
    assert verbs[:2] == ["db migrate", "coordinator start"]
    assert "gateway start" in verbs, "agents ask models nowhere else"
    for program, *words in block:
        if program == "replan":
            parse(words)
