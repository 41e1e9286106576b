"""The shell text that reaches a host around a command, safe under any login shell.

An SSH server gives its text to the account's login shell. That shell only has to understand
`exec /bin/sh -c 'text' sh`, with quoting that bash, dash, zsh, ksh, fish and csh read alike; the
command itself is always read by /bin/sh, byte for byte as it was given.
"""

import re
import shlex

from shared.domain.errors import Rejected
from workers.remote.environment import EXPORTS

LONGEST = 120_000
"""Bytes of the whole text: Linux takes no more than 131,072 in one argument."""

GRACE_SECONDS = 2.0
"""Between TERM and KILL."""

NO_WORKDIR = "-"
"""Stands in the opening line instead of the process id when the workdir cannot be entered."""

_UNSAFE = re.compile(r"['\\!]")

_JOIN_LINES = '_r=$1;shift;for _l do _r=$_r${IFS#??}$_l;done;exec /bin/sh -c "$_r" sh'
"""csh takes no newline inside quotes, so the lines travel as arguments and are joined here by the
last character of the default IFS, a newline."""


def login_line(command: str, *, nonce: str, workdir: str | None = None) -> str:
    """What to ask the SSH server to execute for a command.

    Before the command runs it prints the opening line, `@@<nonce> <pid>`, on standard output; the
    process is the leader of its session and group. Raises Rejected for a command that no host can
    take: too long, or with a NUL byte.
    """
    first = prologue(nonce, workdir)
    if "\n" in command:
        lines = " ".join(quoted(line) for line in (first, *command.split("\n")))
        line = f"exec /bin/sh -c {quoted(_JOIN_LINES)} sh {lines}"
    else:
        # `\` before a newline inside quotes: csh drops the `\`, the others keep it as the end of
        # a comment. Either way the prologue ends here and its syntax is its own.
        line = f"exec /bin/sh -c '{_escaped(first)} #\\\n{_escaped(command)}' sh"
    return checked(line)


def prologue(nonce: str, workdir: str | None = None) -> str:
    """The line before the command: workdir, opening line, standard input, environment."""
    opening = f'echo "@@{nonce} $$"'
    if workdir is not None:
        opening = (
            f"CDPATH= cd -- {_path(workdir)} >/dev/null&&{opening}"
            f'||{{ echo "@@{nonce} {NO_WORKDIR}";exit 1;}}'
        )
    return f"{opening};exec </dev/null;{EXPORTS}"


def quoted(text: str) -> str:
    """One word of a command line that every login shell reads as exactly this text.

    A line break cannot be quoted that way; the text must not have one.
    """
    return f"'{_escaped(text)}'"


def ending(leader: int, *, grace: float) -> str:
    """The command that ends a command: its session, its group and all its descendants.

    TERM first, KILL after `grace` seconds, again until nothing is left; through `sudo -n` where
    the account itself may not. Exits with 0 when all are gone, else prints those that are left
    (pid and name) and exits with 1.
    """
    if leader <= 1:
        raise ValueError(f"{leader} cannot be the leader of a command")
    return _ENDING.replace("LEADER", str(leader)).replace("TENTHS", str(max(1, int(grace * 10))))


def _escaped(text: str) -> str:
    return _UNSAFE.sub(lambda found: f"'\\{found[0]}'", text)


def _path(workdir: str) -> str:
    if workdir == "~" or workdir.startswith("~/"):
        return f'"$HOME"{shlex.quote(workdir[1:])}'
    return shlex.quote(workdir)


def checked(line: str) -> str:
    """The same text, or Rejected when no host can take it: too long, or not valid text."""
    try:
        size = len(line.encode())
    except UnicodeEncodeError:
        raise Rejected("the command is not valid text", stage="execute") from None
    if "\0" in line:
        raise Rejected("the command has a NUL byte in it", stage="execute")
    if size > LONGEST:
        raise Rejected(
            f"the command takes {size} bytes and a host accepts {LONGEST}; "
            "write long content in several commands",
            stage="execute",
        )
    return line


_ENDING = """\
tracked=' LEADER '
tracks() { case $tracked in *" $1 "*) return 0 ;; esac; return 1; }
scan() {
  left= grown=
  for file in /proc/[0-9]*/stat; do
    read -r line <"$file" || continue
    pid=${file#/proc/} pid=${pid%/stat} name=${line%)*} name=${name#*(}
    set -- ${line##*) }
    [ "$4" = LEADER ] || tracks "$pid" || tracks "$2" || continue
    tracks "$pid" || { tracked="$tracked$pid " grown=1; }
    case $1 in Z | X) ;; *) left="$left $pid" names="$names $pid($name)" ;; esac
  done
}
find_left() {
  names=
  if [ -r /proc/self/stat ]; then
    grown=1
    while [ "$grown" ]; do names= && scan; done
  elif kill -0 -LEADER; then
    left=-LEADER names=' group LEADER'
  else
    left=
  fi
  [ "$left" ]
}
send() {
  kill "-$1" -LEADER
  kill "-$1" $left || { [ "$(id -u)" = 0 ] || sudo -n kill "-$1" $left; }
}
await_end() {
  waited=0
  while find_left; do
    [ "$waited" -lt "$1" ] || return 1
    [ -z "$2" ] || send "$2"
    sleep 0.1 || { sleep 1; waited=$((waited + 9)); }
    waited=$((waited + 1))
  done
}
exec 3>&1 >/dev/null 2>&1
find_left || exit 0
send TERM
send CONT
await_end TENTHS '' || await_end 30 KILL || { echo "$names" >&3; exit 1; }
exit 0"""
