"""An enrolled host in words."""

from collections.abc import Iterator

from orchestrator.views.host_details import HostDetails
from orchestrator.words.approvals import describe_account
from shared.domain.host import ConnectionKind, Host, SudoFound

_SUDO = {
    SudoFound.ROOT: "the account is root and needs none",
    SudoFound.YES: "this account may use it without a password",
    SudoFound.NO: "it asks this account for a password, or refuses it",
    SudoFound.ABSENT: "there is none",
}


def describe_way(host: Host) -> str:
    """How a host is reached by SSH."""
    through = f" through {host.jump}" if host.jump else ""
    return f"{host.user or ''}@{host.address}:{host.port}{through}"


def describe(found: HostDetails) -> Iterator[tuple[str, str]]:
    """What is known of a host, as pairs of a name and a text."""
    host = found.host
    yield "host", host.name
    if host.distrusted:
        yield "disabled", host.distrusted
    if host.connection is ConnectionKind.SSH:
        yield "where", describe_way(host)
        yield "host key", found.fingerprint
        if host.key_path:
            yield "log-in with", host.key_path
    else:
        yield "where", "the machine of the executor, without SSH"
    yield "runs as", describe_account(host.user, sudo=host.sudo)
    yield "starts in", host.workdir or "its home folder"
    if found.sudo_found is not None:
        yield "sudo", _SUDO[found.sudo_found]
    if host.labels:
        yield "labels", ", ".join(host.labels)
