"""What the processes of an attempt have used so far, asked on its host in one call.

An attempt is known by the variable that its runner gives to all that it starts, so what has
detached itself counts, too. A host without /proc has no such signs.
"""

import shlex
from dataclasses import dataclass
from typing import Final

from workers.shells.ports import Call, Shell

SIGNS_TIMEOUT: Final = 20.0
"""Seconds for one look at the processes of a host."""

_MOST_PROCESSES: Final = 400
"""Of a fork bomb, only so many are looked at."""

# A name in `stat` stands in brackets and may hold blanks: what follows the last bracket is read.
_SCRIPT: Final = r"""
mark={mark} stem= stats= ios=
[ -r /proc/self/environ ] || exit 0
found=$(LC_ALL=C grep -lsa -- "REPLAN_ATTEMPT=[^[:cntrl:]]*/$mark" /proc/[0-9]*/environ |
  head -n {most})
for file in $found; do
  of=$({{ tr '\0' '\n' <"$file"; }} 2>/dev/null |
    sed -n "\\,^REPLAN_ATTEMPT=.*/$mark\$,s,^[^=]*=\(.*\)/[^/]*,\1,p")
  [ "$of" ] || continue
  stem=$of each=${{file%/environ}}
  stats="$stats $each/stat" ios="$ios $each/io"
done
[ "$stem" ] || {{ echo processes 0; exit 0; }}
hertz=$(getconf CLK_TCK 2>/dev/null) || hertz=100
cat $stats 2>/dev/null | awk -v hertz="$hertz" '
  {{ sub(/^.*\) /, ""); used += $12 + $13 + $14 + $15; count++ }}
  END {{ printf "processes %d\ncpu %.2f\n", count, used / hertz }}'
cat $ios 2>/dev/null | awk '
  /^(rchar|wchar):/ {{ moved += $2 }}
  END {{ printf "io %.0f\n", moved }}'
written=$(stat -c %Y "$stem".o.* 2>/dev/null | sort -n | tail -n 1)
[ -z "$written" ] || echo "quiet $(($(date +%s) - written))"
"""


@dataclass(frozen=True, slots=True)
class ProcessSigns:
    """The CPU time (seconds), and the bytes read and written, of the `processes` that still run.

    `quiet` is how many seconds ago the stream of the runner last grew. Each is None if that cannot
    be told.
    """

    processes: int | None = None
    cpu: float | None = None
    io: int | None = None
    quiet: float | None = None


def look_at_processes(shell: Shell, record: str, key: str) -> ProcessSigns:
    """The signs of an attempt on the host of the shell. Raises what the shell raises.

    `record` is the name of its pass there: the same key may belong to other installations, too.
    """
    return read_signs(shell.run(Call(signs_script(record, key), SIGNS_TIMEOUT)).stdout)


def signs_script(record: str, key: str) -> str:
    """The text for sh that looks at the processes of the attempt with that key in that pass."""
    mark = f"{record}[^/]*/{key}".replace(".", "[.]")
    return _SCRIPT.format(mark=shlex.quote(mark), most=_MOST_PROCESSES)


def read_signs(output: bytes) -> ProcessSigns:
    """What the script printed; what is missing or cannot be read is left out."""
    found = dict(_pairs(output))
    processes, moved, quiet = (found.get(name) for name in ("processes", "io", "quiet"))
    return ProcessSigns(
        processes=None if processes is None else int(processes),
        cpu=found.get("cpu"),
        io=None if moved is None else int(moved),
        quiet=None if quiet is None else max(0.0, quiet),
    )


def _pairs(output: bytes) -> list[tuple[str, float]]:
    pairs = []
    for line in output.decode(errors="replace").splitlines():
        name, _, number = line.partition(" ")
        try:
            pairs.append((name, float(number)))
        except ValueError:
            continue
    return pairs
