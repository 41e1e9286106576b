"""A target: where a task happens."""

from dataclasses import dataclass

from shared.domain.host import Host


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository. `location` is a path or a URL that git can clone from."""

    name: str
    location: str
    default_branch: str = "main"


Target = Host | Repository
