"""The shell text that starts a runner."""

import shlex
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final

from shared.domain.errors import Rejected
from workers.agents.containment.text import Place, contained
from workers.agents.runners.port import TEMPORARY, Invocation
from workers.shells.remote.environment import NON_INTERACTIVE

PASSED_ON: Final = (
    "PATH", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "REPLAN_ATTEMPT", *NON_INTERACTIVE,
)  # fmt: skip
"""The variables of the shell that every runner inherits."""

STDIN: Final = "stdin"
"""The file below the home that a runner reads as its standard input."""


def script(invocation: Invocation, place: Place | None = None) -> str:
    """A text for sh: write the files, enter the workspace, and become the runner.

    The runner's environment is `env`, plus the variables named in `inherits` and `secrets` as
    the shell has them. Whoever runs the text gives it the values of `secrets`
    (`Call.variables`), so that the text holds none of them. With a `place`, the runner runs
    contained, and sees and changes nothing else.
    """
    home = _absolute(invocation.home)
    files = dict(invocation.files)
    if invocation.stdin is not None:
        files[STDIN] = invocation.stdin
    folders = {home, home / TEMPORARY, *((home / name).parent for name in files)}
    written = [f"umask 077 && mkdir -p {' '.join(map(_word, sorted(folders)))}"]
    written += [f"printf %s {_word(text)} >{_word(home / name)}" for name, text in files.items()]
    prepare = "(" + " &&\n".join(written) + ")"
    steps = (
        f"cd {_word(_absolute(invocation.workspace))}",
        f"exec {' '.join(_command(invocation))} <{_stdin(invocation, home)}",
    )
    if place is None:
        return " &&\n".join((prepare, *steps))
    text = contained(" &&\n".join(steps), _programs(invocation.argv), place)
    return f"{prepare} || exit\n{text}"


def _programs(argv: tuple[str, ...]) -> list[str]:
    """The words of a command line that may be programs, or files that they read: before options."""
    return list(takewhile(lambda word: not word.startswith("-"), argv))


def _command(invocation: Invocation) -> list[str]:
    passed = dict.fromkeys((*PASSED_ON, *invocation.inherits, *invocation.secrets))
    own = {
        "HOME": invocation.home,
        "TMPDIR": f"{invocation.home}/{TEMPORARY}",
        **_stay_in(invocation.workspace),
        **invocation.env,
    }
    inherited = [f'${{{name}+"{name}=${name}"}}' for name in passed if name not in own]
    given = [_word(f"{name}={value}") for name, value in own.items()]
    return ["env -i", *inherited, *given, *map(_word, invocation.argv)]


def _stay_in(workspace: str) -> dict[str, str]:
    """Variables of git: without a repository of its own, it takes none of a folder above."""
    above = str(PurePosixPath(workspace).parent)
    return {
        "GIT_CEILING_DIRECTORIES": above,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def _stdin(invocation: Invocation, home: PurePosixPath) -> str:
    return "/dev/null" if invocation.stdin is None else _word(home / STDIN)


def _absolute(path: str) -> PurePosixPath:
    if not path.startswith("/"):
        raise Rejected(f"{path!r} is not an absolute path", stage="execute")
    return PurePosixPath(path)


def _word(word: object) -> str:
    return shlex.quote(str(word))
