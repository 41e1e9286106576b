"""Errors about a host: the host's name comes first, and a command to type next is included."""

from shared.domain.errors import Misconfigured, Transient
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Advice, NextStep, ShellCommand


def place(host: Host) -> str:
    """The name of a host in a sentence: `web1 (deploy@10.0.0.5:22)`."""
    if host.connection is ConnectionKind.LOCAL:
        return host.name
    account = f"{host.user}@" if host.user else ""
    return f"{host.name} ({account}{host.address}:{host.port})"


def check_command(host: Host) -> NextStep:
    """The command that checks every step of reaching the host."""
    return NextStep.of("host check", host.name)


def replace_key_command(host: Host) -> NextStep:
    """The command that enrols the host's current key."""
    return NextStep.of("host add", host.name, replace_host_key=True)


def copy_key_command(host: Host) -> ShellCommand:
    """The command that installs our key on the host."""
    return ShellCommand(
        f"ssh-copy-id -i {host.key_path}.pub -p {host.port} {host.user}@{host.address}"
    )


def misconfigured(
    host: Host, sentence: str, *, stage: str, next_step: Advice | None = None
) -> Misconfigured:
    """An error that only the operator can fix on this host."""
    return Misconfigured(
        f"{place(host)}: {sentence}",
        stage=stage,
        next_step=next_step or check_command(host),
    )


def transient(host: Host, sentence: str, *, stage: str) -> Transient:
    """An error that will probably go away by itself."""
    return Transient(f"{place(host)}: {sentence}", stage=stage, next_step=check_command(host))


def no_workdir(host: Host, said: str = "") -> Misconfigured:
    """The error for a workdir that cannot be entered; `said` is the shell's message."""
    detail = f" ({said})" if said else ""
    return misconfigured(
        host, f"the workdir {host.workdir} cannot be entered{detail}", stage="execute"
    )


def processes_left(host: Host, left: str) -> Misconfigured:
    """The error for a command that had to end, while some processes, listed in `left`, did not."""
    return misconfigured(
        host,
        f"these processes of a command that had to end are still running: {left}",
        stage="execute",
    )
