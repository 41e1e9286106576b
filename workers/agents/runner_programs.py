"""Which programs of runners a host has, asked by a text of replan's own; nothing is changed."""

import re
from collections.abc import Iterator
from typing import Final

from shared.domain.target import RunnerProgram
from workers.shells.ports import Call, Shell

_TIMEOUT: Final = 30.0
_VERSION: Final = re.compile(r"\d+(?:\.\d+)+")

_ASKING: Final = r"""
cd /
for each in claude-code:claude codex:codex acp:opencode mini-swe-agent:mini; do
  program=${each#*:}
  place=$(command -v "$program") || continue
  said=
  [ "$program" = mini ] || said=$(timeout 5 "$place" --version 2>/dev/null </dev/null | head -n 1)
  printf '%s\t%s\t%s\t%s\n' "${each%%:*}" "$program" "$place" "$said"
done
"""
"""mini-swe-agent is not asked: it takes many seconds to say its version."""


def runner_programs(shell: Shell) -> tuple[RunnerProgram, ...]:
    """Those that are on the PATH of the account there. Raises what the shell raises."""
    said = shell.run(Call(_ASKING, _TIMEOUT)).stdout.decode(errors="replace")
    return tuple(_programs(said))


def _programs(said: str) -> Iterator[RunnerProgram]:
    for line in said.splitlines():
        runner, program, path, version = (line.split("\t") + [""] * 3)[:4]
        number = _VERSION.search(version)
        yield RunnerProgram(runner, program, path, number[0] if number else "")
