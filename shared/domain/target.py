"""A target: where a task happens."""

from dataclasses import dataclass

from shared.domain.host import Host


@dataclass(frozen=True, slots=True)
class Repository:
    """A git repository on an enrolled host, where agents work; only its commits count.

    Either `path`, a folder on that host, or `url`, which git there can clone from. Work starts from
    `branch`, None for the one that the repository has checked out. `setup` is a command that makes
    a workspace ready, `checks` are commands that must be green in every workspace. `runners` lists
    the agents that may work here, None for any. `copied` holds patterns of ignored files that a
    workspace needs (`.env.test`); no other ignored file gets there. `labels` are a person's words.
    """

    name: str
    host: str
    path: str | None = None
    url: str | None = None
    branch: str | None = None
    setup: str | None = None
    setup_timeout: float = 600.0
    checks: tuple[str, ...] = ()
    runners: tuple[str, ...] | None = None
    copied: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """What git clones from: the path on its host, or the URL."""
        return self.path or self.url or ""

    def allows(self, runner: str) -> bool:
        """Whether that agent may work here."""
        return self.runners is None or runner in self.runners


Target = Host | Repository
