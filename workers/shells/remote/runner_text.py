"""The text of a runner, and the calls of its functions, as they are sent."""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

from shared.domain.containment import Hidden
from shared.domain.host import Host
from workers.shells.ports import Call
from workers.shells.questions import asks
from workers.shells.remote.environment import EXPORTS
from workers.shells.remote.short_names import VERBS, RunnerVerb, shorten

JOB_ROOT = "~/.replan/jobs"
"""The folder in which a host keeps the records of commands, below the account's home."""

LATE_SECONDS = 15
"""How long after its timeout the host itself ends a command, if nobody else has."""

RECORDS_CAP = 256_000_000
"""Bytes that the records on a host may take up before old output is removed."""

_PARTS = ("runner.sh", "ending.sh", "watch.sh")
_CONTAINMENT = ("ids.sh", "contain.sh")
_STAGE = ("ids.sh", "sealing.sh", "contained.sh")

EXEC_LINE = "exec /bin/sh"
"""The line for a login shell: bash, dash, zsh, ksh, fish and csh all read it alike."""


def exec_line(host: Host, *, own_session: bool) -> str:
    """The line for a host; `own_session` if the login shell does not lead its session.

    With sudo, the runner becomes root, not each command, because it must be able to end them. If
    sudo requires a password, that is the first line that the shell reads.
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


_COMMENT = re.compile(r"^#.*|(?<=\(\) \{) # .*")
"""A comment on its own line, or after the name of a function."""

_KILLS = re.compile(r"\bkill\b")
_MAKES_SECRETS = re.compile(
    r"\b(?:openssl|ssh-keygen|gpg|age-keygen|wg|certbot|htpasswd|keytool|easyrsa|mkpasswd|chpasswd"
    r"|tar|unzip|git|rsync|curl|wget|docker|podman)\b"
    r"|\.(?:env|key|pem|p12|pfx|jks)\b|(?i:secret|passw|token|credential|private)|id_(?:rsa|ed)"
)
_STAYS = re.compile(r"(?<![&>|])&(?![&>])|\b(?:nohup|setsid|disown|daemon|init\.d|service|start)\b")


def opening(frames: str, records: str, root: str = JOB_ROOT, cap: int = RECORDS_CAP) -> bytes:
    """The text that turns a shell into a runner, with the nonces of its frames and its records.

    `cap` is in bytes; beyond it, the runner's watch removes output that nobody needs.

    If the transfer is cut anywhere, the shell sees a syntax error and runs nothing.
    """
    names = shorten("frame_nonce record_nonce home_root records_cap").split()
    values = (frames, records, path_word(root), str(cap // 1024))
    first = " ".join(f"{name}={value}" for name, value in zip(names, values, strict=True))
    return f"{{\n{EXPORTS}\n{first}\n{_text()}\n}}\nhello\n".encode()


def containment(hidden: Hidden, folder: str) -> bytes:
    """The text that makes the containment of a runner for looks that start in that folder.

    The runner answers once. A transfer that is cut anywhere makes none.
    """
    places = "\n".join(hidden.places)
    stage = join_scripts(*_STAGE)
    words = (stage, places, hidden.names, hidden.public, folder)
    functions = shorten(join_scripts(*_CONTAINMENT))
    return f"{{\n{functions}\n}}\ncontain {' '.join(map(_quote, words))} .\n".encode()


def call(verb: RunnerVerb, *words: str | float) -> bytes:
    """The call of a function of the runner; an incomplete call does nothing."""
    return f"{VERBS[verb]} {' '.join(map(_quote, words))} .\n".encode()


def begin_text(calls: Sequence[Call], *, not_after: int, after: bool | None = None) -> bytes:
    """The text that starts commands one after another; see `runner.Runner.begin`."""
    text = b""
    for each in calls:
        text += _start(each, not_after, after, last=each is calls[-1])
        after = each.ends_well
    return text


def _start(each: Call, not_after: int, after: bool | None, *, last: bool) -> bytes:
    span = int(each.timeout) + LATE_SECONDS
    named = flags(each.command, more=not last, contained=each.contained)
    exports = export_command(each.variables)
    words = (each.key or "", not_after, span, named, each.label, each.command, exports)
    if after is None:
        return call(RunnerVerb.RUN, *words)
    return call(RunnerVerb.RUN_IF, "y" if after else "n", *words)


def export_command(variables: Mapping[str, str]) -> str:
    """The shell command that exports the variables; empty if there are none."""
    words = (f"{name}={_quote(value)}" for name, value in sorted(variables.items()))
    return f"export {' '.join(words)}" if variables else ""


def flags(command: str, *, more: bool = False, contained: bool = False) -> str:
    """What the runner must know about a command besides its text; `more` if others follow it.

    `s`: it sends signals, so it gets its own session and cannot hit the runner. `b`: it may leave
    processes running, so their later output must not mix with the next command's output. `q`: it
    is a question that the runner can answer by itself. `h`: that answer may wait for the next one.
    `c`: it runs in the containment. `w`: it may make secrets, which looks may not see.
    """
    if asks(command):
        return "-q" + "h" * more
    if contained:
        return "-c"
    makes_secrets = "w" * bool(_MAKES_SECRETS.search(command))
    return (
        "-"
        + makes_secrets
        + "s" * bool(_KILLS.search(command))
        + "b" * bool(_STAYS.search(command))
    )


@cache
def _text() -> str:
    return shorten(text())


def text() -> str:
    """The runner's text with its long names, without comments and indentation."""
    return join_scripts(*_PARTS)


def join_scripts(*names: str) -> str:
    """Scripts of this folder as one text; see `read_script`."""
    return "\n".join(map(read_script, names))


@cache
def read_script(name: str) -> str:
    """A script of this folder with its long names, without comments and indentation."""
    text = files("workers.shells.remote").joinpath(name).read_text(encoding="utf-8")
    lines = (_COMMENT.sub("", line.lstrip()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)


def path_word(path: str) -> str:
    """One word of a command line for a path; `~` is the account's home."""
    if path == "~" or path.startswith("~/"):
        return f'"$HOME"{shlex.quote(path[1:])}'
    return shlex.quote(path)


def _quote(word: str | float) -> str:
    return "'" + str(word).replace("'", "'\\''") + "'"
