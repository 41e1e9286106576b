"""What a command may be, and the shell text that ends one."""

import shlex

from shared.domain.errors import Rejected

LONGEST = 120_000
"""Bytes of a command: Linux takes no more than 131,072 in one argument."""

GRACE_SECONDS = 2.0
"""Between TERM and KILL."""


def ending(leader: int, *, grace: float) -> str:
    """The command that ends a command: its session, its group and all its descendants.

    TERM first, KILL after `grace` seconds, again until nothing is left; through `sudo -n` where
    the account itself may not. Exits with 0 when all are gone, else prints those that are left
    (pid and name) and exits with 1.
    """
    if leader <= 1:
        raise ValueError(f"{leader} cannot be the leader of a command")
    return _ENDING.replace("LEADER", str(leader)).replace("TENTHS", str(max(1, int(grace * 10))))


def path_word(workdir: str) -> str:
    """One word of a command line for a path; `~` is the account's home."""
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
