"""What follows from a runner's refusal to start a command."""

from shared.domain.host import Host
from workers.shells.remote.channels import LostError
from workers.shells.remote.errors import no_workdir
from workers.shells.remote.follow import handed_over
from workers.shells.remote.frames import Refusal
from workers.shells.remote.runner import Runner
from workers.shells.remote.takeover import overtaken_error


def require_room(host: Host, runner: Runner, why: Refusal) -> None:
    """Return if another file of records may help: only the disk was full.

    The runner may serve other folders of the host, too: `host` has the one of the command.

    Raises Transient if another worker has the pass or soon may, Misconfigured if the workdir is
    missing, and LostError if this runner does something else than it was asked.
    """
    match why:
        case Refusal.FULL:
            return
        case Refusal.LATE:
            raise handed_over(runner)
        case Refusal.NODIR:
            raise no_workdir(host)
        case Refusal.OVER:
            raise overtaken_error(runner)
    raise LostError(f"it refuses a command: {why}")
