"""What the host keeps with a running agent, for the next driver of its pass; pure."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Self

from shared.domain.containment import Networks


@dataclass(frozen=True, slots=True)
class AgentLabel:
    """The try of an attempt (`workers.passes.means.Try`), and who works.

    `runner` and `command` find its runner, `name` is what people know it by. The workspace held
    `tree` before it started. `networks` is what its containment lets it reach, None without one.
    """

    goal: str
    remedy: str | None
    planned: str | None
    runner: str
    command: str | None
    name: str
    tree: str
    networks: Networks | None = None

    def __str__(self) -> str:
        """One line."""
        return json.dumps(asdict(self))

    @classmethod
    def read(cls, line: str) -> Self | None:
        """The label in a line; None for that of a command. A newer worker may have written more."""
        found = json.loads(line)
        if not isinstance(found, dict):
            return None
        known = {each.name for each in fields(cls)}
        given = {name: value for name, value in found.items() if name in known}
        if (networks := given.get("networks")) is not None:
            given["networks"] = Networks(networks)
        return cls(**given)
