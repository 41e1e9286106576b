"""Whether to accept the key that a host shows: only a person decides that."""

from collections.abc import Callable
from ipaddress import ip_address

from shared.domain.errors import Misconfigured, Rejected
from shared.domain.host import Host
from shared.domain.next_step import NextStep, ShellCommand

ANY = "any"

Ask = Callable[[Host, str], bool]
"""Asks a person whether the key of this fingerprint is the host's."""

Tell = Callable[[Host, str], None]
"""Reports a key that is accepted without asking."""


def require_acceptance(
    host: Host,
    fingerprint: str,
    accept: str | None,
    ask: Ask | None,
    tell: Tell,
) -> None:
    """Return when the key may be pinned: `accept` names it (or is `any`), or `ask` says yes.

    Where nobody can be asked (`ask` is None), keys of this machine's own addresses are accepted,
    and `tell` reports them. Raises Misconfigured when the host shows a key other than the named
    one, and Rejected otherwise.
    """
    if accept in {ANY, fingerprint}:
        return
    if accept is not None:
        raise Misconfigured(
            f"{host.address}:{host.port} shows the host key {fingerprint}, not {accept}",
            stage="host_key",
            next_step=ShellCommand(f"ssh-keyscan -p {host.port} {host.address} | ssh-keygen -lf -"),
        )
    if ask is None and is_loopback(host.address):
        tell(host, fingerprint)
        return
    if ask is not None and ask(host, fingerprint):
        return
    raise Rejected(
        f"the host key {fingerprint} of {host.address}:{host.port} was not accepted",
        stage="host_key",
        next_step=_accept_command(host, fingerprint),
    )


def is_loopback(address: str) -> bool:
    """Whether an address is one of this machine."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"


def _accept_command(host: Host, fingerprint: str) -> NextStep:
    """The same call with the fingerprint accepted."""
    return NextStep.of(
        "host add",
        host.name,
        address=host.address,
        port=host.port,
        user=host.user or None,
        key=host.key_path or None,
        workdir=host.workdir or None,
        jump=host.jump or None,
        password=host.password or None,
        passphrase=host.passphrase or None,
        sudo_password=host.sudo_password or None,
        accept_host_key=fingerprint,
        sudo=bool(host.sudo),
    )
