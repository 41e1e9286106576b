"""Secrets that a host's entry names."""

from collections.abc import Callable

from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.next_step import NextStep
from shared.domain.secret import name_of
from workers.shells.remote.errors import misconfigured

Reveal = Callable[[str], str]
"""Returns the secret of a name; raises Misconfigured when there is none."""


def no_vault(name: str) -> str:
    """Raise Misconfigured, in a process without a vault."""
    raise Misconfigured(
        f"the secret {name} is needed, but this process has no vault",
        stage="secrets",
        next_step=NextStep.of("config show"),
    )


def reveal_secret(host: Host, reference: str | None, reveal: Reveal) -> str | None:
    """The secret that a host's entry names, None if it names none; raises Misconfigured."""
    if reference is None:
        return None
    name = name_of(reference)
    if name is None:
        sentence = "its entry must name a secret as ${secret:NAME}, but contains something else"
        raise misconfigured(host, sentence, stage="secrets")
    return reveal(name)
