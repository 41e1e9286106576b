"""Lists the passes under which a host has started commands, from the names of its records."""

import re

from shared.domain.records import RecordedPass
from workers.shells.ports import Call, Shell

_TIMEOUT = 20.0

# Only the logs of passes whose claim is in their name, and which show the start of a command.
_SCRIPT = r"""
records=${REPLAN_ATTEMPT%/looks/*}
[ "$REPLAN_ATTEMPT" ] || exit 0
find "$records" -mindepth 2 -name '*_*.log' ! -path '*/looks/*' \
  -exec grep -lE '^@@[0-9a-f]+ s R' {} + 2>/dev/null | sed 's|.*/||'
exit 0
"""

_NAME = re.compile(r"(\w+)-(\d+)-(\d+)-(\d+)\.\d+\.\d+_(\w+)\.log", re.ASCII)


def recorded_passes(shell: Shell) -> tuple[RecordedPass, ...]:
    """The passes, each once; raises what `run` raises."""
    names = shell.run(Call(_SCRIPT, _TIMEOUT)).stdout.decode("utf-8", "replace").splitlines()
    found = filter(None, map(_NAME.fullmatch, names))
    passes = {RecordedPass(m[1], int(m[2]), int(m[3]), int(m[4]), m[5]): None for m in found}
    return tuple(passes)
