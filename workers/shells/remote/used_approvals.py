"""Keeps on a host which attempt has used an approval, where who writes to the database cannot."""

import re
import shlex
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from shared.domain.errors import Misconfigured
from shared.domain.host import Host
from shared.domain.next_step import NextStep
from workers.shells.ports import Call, Connections, Shell

_TIMEOUT = 20.0

_NAME = re.compile(r"[0-9a-f]{64}")

# A file for each approval, below the records of commands, with the key of the attempt that used it.
# A link appears with its whole content or not at all, so of two that come at once one is first.
# Approvals are valid for a week at most.
_SCRIPT = r"""
approval=%s key=%s
umask 077
[ "$REPLAN_ATTEMPT" ] || exit 0
first=
for root in "${REPLAN_ATTEMPT%%%%/looks/*}" /dev/shm/replan-"$(id -u)"; do
  [ ! -L "$root/.approvals" ] || continue
  if [ -e "$root/.approvals/$approval" ]; then
    read -r first <"$root/.approvals/$approval"
    printf '%%s\n' "$first"
    exit 0
  fi
done
root=${REPLAN_ATTEMPT%%%%/looks/*}/.approvals
[ ! -L "$root" ] && mkdir -p "$root" || exit 0
fresh=$root/.$approval.$$
printf '%%s\n' "$key" >"$fresh" && ln "$fresh" "$root/$approval" 2>/dev/null
rm -f "$fresh"
[ -e "$root/$approval" ] && read -r first <"$root/$approval" && printf '%%s\n' "$first"
find "$root" -type f -mtime +8 -exec rm -f {} + 2>/dev/null
exit 0
"""


def first_use_on(connections: Connections, host: Host) -> Callable[[str, str], bool]:
    """`first_use` on a host, over a shell of its own each time. Raises what a connection raises."""

    def ask(approval: str, key: str) -> bool:
        with closing(connections.shell(replace(host, workdir=None))) as shell:
            return first_use(shell, host.name, approval, key)

    return ask


def first_use(shell: Shell, host: str, approval: str, key: str) -> bool:
    """Note that the attempt with that key uses an approval; False if another one has used it.

    `host` is its name, `approval` is the SHA-256 of what a person signed. Raises Misconfigured if
    the host has no place to note it, and what `run` raises.
    """
    if not _NAME.fullmatch(approval):
        raise AssertionError("an approval is named by its SHA-256")
    script = _SCRIPT % (shlex.quote(approval), shlex.quote(key))
    first = shell.run(Call(script, _TIMEOUT)).stdout.decode("utf-8", "replace").strip()
    if not first:
        raise Misconfigured(
            "the host has no place to note that an approval is used, so nothing runs on it",
            stage="guard",
            next_step=NextStep.of("host check", host),
        )
    return first == key
