"""How errors about a host are worded: the host's name first, and a command to type next."""

from shared.domain.errors import Misconfigured, Transient
from shared.domain.host import ConnectionKind, Host
from shared.domain.next_step import Advice, NextStep, ShellCommand


def place(host: Host) -> str:
    """How a sentence names a host: `web1 (deploy@10.0.0.5:22)`."""
    if host.connection is ConnectionKind.LOCAL:
        return host.name
    account = f"{host.user}@" if host.user else ""
    return f"{host.name} ({account}{host.address}:{host.port})"


def check_command(host: Host) -> NextStep:
    """The command that looks at every part of reaching the host."""
    return NextStep.of("host check", host.name)


def replace_key_command(host: Host) -> NextStep:
    """The command that enrols the host's present key."""
    return NextStep.of("host add", host.name, replace_host_key=True)


def copy_key_command(host: Host) -> ShellCommand:
    """The command that lets our key in on the host."""
    return ShellCommand(
        f"ssh-copy-id -i {host.key_path}.pub -p {host.port} {host.user}@{host.address}"
    )


def misconfigured(
    host: Host, sentence: str, *, stage: str, next_step: Advice | None = None
) -> Misconfigured:
    """What only the operator can put right on this host."""
    return Misconfigured(
        f"{place(host)}: {sentence}",
        stage=stage,
        next_step=next_step or check_command(host),
    )


def transient(host: Host, sentence: str, *, stage: str) -> Transient:
    """What will probably pass on this host."""
    return Transient(f"{place(host)}: {sentence}", stage=stage, next_step=check_command(host))


def no_workdir(host: Host, said: str = "") -> Misconfigured:
    """The host's workdir cannot be entered; `said` is what the shell said about it."""
    detail = f" ({said})" if said else ""
    return misconfigured(
        host, f"the workdir {host.workdir} cannot be entered{detail}", stage="execute"
    )


def processes_left(host: Host, left: str) -> Misconfigured:
    """A command had to end and some of its processes, listed in `left`, did not."""
    return misconfigured(
        host,
        f"processes of a command that had to end could not be ended: {left}",
        stage="execute",
    )
