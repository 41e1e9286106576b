"""What is sent to a runner: its text, and the calls of its functions."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from shared.domain.host import Host
from workers.shells.remote.environment import EXPORTS
from workers.shells.remote.script import path_word
from workers.shells.remote.short_names import VERBS, RunnerVerb, shorten

JOB_ROOT = "~/.replan/jobs"
"""Where a host keeps the records of what ran on it, below the account's home."""

_PARTS = ("runner.sh", "ending.sh", "watch.sh")

EXEC_LINE = "exec /bin/sh"
"""What a login shell is asked to execute: bash, dash, zsh, ksh, fish and csh read it alike."""


def exec_line(host: Host, *, own_session: bool) -> str:
    """The line for a host; `own_session` where a login shell does not lead its session.

    With sudo it is the runner that becomes root, not each command: it has to be able to end them.
    Where sudo takes a password, that is the first line that the shell is sent.
    """
    shell = "setsid /bin/sh" if own_session else "/bin/sh"
    if not host.sudo:
        return f"exec {shell}"
    asks_nothing = f"sudo -n -H {shell}"
    if host.sudo_password is None:
        return f"exec {asks_nothing}"
    return (
        "exec /bin/sh -c 'if sudo -n true 2>/dev/null; then read -r ignored; "
        f'exec {asks_nothing}; fi; exec sudo -S -p "" -H {shell}\''
    )


_ASKS = re.compile(
    r"true|false|:|(?:test|(?P<bracket>\[))"
    r"(?: (?!-[vR]\b|/dev/(?:std|fd)|/proc/(?:self|thread))[\w./:=,@%+!-]+)*(?(bracket) \])",
    re.ASCII,
)
"""Not what asks for variables, streams or the process: those of the runner are its own."""

_COMMENT = re.compile(r"^#.*|(?<=\(\) \{) # .*")
"""A line of its own, or after the name of a function."""

_KILLS = re.compile(r"\bkill\b")
_STAYS = re.compile(r"(?<![&>|])&(?![&>])|\b(?:nohup|setsid|disown|daemon|init\.d|service|start)\b")


def opening(frames: str, records: str, root: str = JOB_ROOT) -> bytes:
    """The text that makes a shell a runner; the words are the nonces of frames and of records.

    A transfer that is cut anywhere leaves a syntax error, and nothing runs.
    """
    names = shorten("frame_nonce record_nonce home_root").split()
    values = (frames, records, path_word(root))
    first = " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    return f"{{\n{EXPORTS}\n{first}\n{_text()}\n}}\nhello\n".encode()


def call(verb: RunnerVerb, *words: str | float) -> bytes:
    """The call of a function of the runner; one that was cut off does nothing."""
    return f"{VERBS[verb]} {' '.join(map(_quote, words))} .\n".encode()


def export_command(variables: Mapping[str, str]) -> str:
    """The command that puts variables into an environment; empty without any."""
    words = (f"{name}={_quote(value)}" for name, value in sorted(variables.items()))
    return f"export {' '.join(words)}" if variables else ""


def asks(command: str) -> bool:
    """Whether it only asks what any shell can answer, as most checks do: nothing is started."""
    return _ASKS.fullmatch(command) is not None


def flags(command: str, *, more: bool = False) -> str:
    """What the runner should know of a command, beside its text; `more` when others follow it.

    `s`: it sends signals, so it gets a session of its own and cannot hit the runner. `b`: it may
    leave something running, so what that writes later is kept apart from the next command's output.
    `q`: it only asks what the runner can answer by itself. `h`: that answer may go with the next.
    """
    if asks(command):
        return "-q" + "h" * more
    return "-" + "s" * bool(_KILLS.search(command)) + "b" * bool(_STAYS.search(command))


@cache
def _text() -> str:
    return shorten(text())


def text() -> str:
    """What the runner is, with its own names, without comments and indentation."""
    folder = files("workers.shells.remote")
    parts = (folder.joinpath(name).read_text(encoding="utf-8") for name in _PARTS)
    lines = (_COMMENT.sub("", line.lstrip()) for line in "".join(parts).splitlines())
    return "\n".join(line for line in lines if line)


def _quote(word: str | float) -> str:
    return "'" + str(word).replace("'", "'\\''") + "'"
