"""Gathers facts about a host with one command, whose lines are the facts."""

import time

from workers.shells.ports import Call, Shell
from workers.shells.remote.environment import KEPT_BY_SUDO

FACTS_TIMEOUT = 20.0
"""Seconds for the whole command."""

_SCRIPT = r"""
[ -r /etc/os-release ] && . /etc/os-release
echo "os=${PRETTY_NAME:-$(uname -s)}"
echo "kernel=$(uname -r)"
echo "arch=$(uname -m)"
echo "hostname=$(uname -n)"
echo "user=$(id -un)"
echo "uid=$(id -u)"
echo "home=$HOME"
echo "login_shell=$SHELL"
echo "workdir=$(pwd)"
echo "cpus=$(getconf _NPROCESSORS_ONLN)"
echo "clock=$(date +%s)"
command -v systemctl >/dev/null && [ -d /run/systemd/system ] && echo systemd=yes
[ -r /proc/self/stat ] && echo proc=yes
command -v setsid >/dev/null && echo setsid=yes
if [ "$(id -u)" = 0 ]; then echo sudo=root
elif ! command -v sudo >/dev/null; then echo sudo=absent
elif allowed=$(sudo -n -l 2>/dev/null); then
  echo sudo=yes
  for name in KEPT; do
    case $allowed in *"$name"*) ;; *) echo sudo_drops=yes; break ;; esac
  done
else echo sudo=no
fi

kind_of() { # folder: print the type of its file system
  place=$(cd "$1" && pwd -P) || return
  longest= kind=
  while read -r _ at type _; do
    at=${at%/}
    case $place/ in "$at"/*) [ ${#at} -ge ${#longest} ] && longest=$at kind=$type ;; esac
  done </proc/mounts
  echo "$kind"
}
if [ "$REPLAN_ATTEMPT" ]; then
  records=${REPLAN_ATTEMPT%/looks/*}
  echo "records=$records"
  echo "records_fs=$(kind_of "$records")"
  set -- $(du -sk "$records" 2>/dev/null)
  echo "records_kb=$1"
  logs() { find "$records" -mindepth 2 -name '*.log' ! -path '*/looks/*' "$@" 2>/dev/null; }
  echo "records_runs=$(logs | sed 's|.*/||; s|-.*||' | sort -u | wc -l)"
  oldest=$(logs -exec ls -tr {} + | head -n 1)
  [ -z "$oldest" ] || echo "records_since=$(date -r "$oldest" +%s)"
fi
case $records in
/dev/shm/*)
  jobs=$HOME/.replan/jobs try=$HOME/.replan/jobs/.try.$$
  # Never follow a link, or use a folder that another account may have prepared.
  if [ ! -L "$jobs" ] && { [ ! -e "$jobs" ] || [ -O "$jobs" ]; }; then
    said=$({ mkdir -p -m 700 "$jobs" && cat /proc/self/stat >"$try"; } 2>&1) ||
      echo "home_refuses=${said##*: }"
    rm -f "$try" 2>/dev/null
  fi
  ;;
esac
set -- $(df -Pk "$HOME" 2>/dev/null | tail -n 1)
echo "home_free_kb=$4"

read_logind() {
  loginctl show-user -p KillUserProcesses -p KillExcludeUsers -p KillOnlyUsers \
    -p RemoveIPC 2>/dev/null | grep -E '^(Kill|RemoveIPC)' ||
    cat /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf 2>/dev/null |
    grep -E '^(Kill|RemoveIPC)'
}
read_logind | sed '
  s/^KillUserProcesses=/logout_kills=/
  s/^KillExcludeUsers=/logout_spares=/
  s/^KillOnlyUsers=/logout_kills_only=/
  s/^RemoveIPC=/logout_empties_shm=/'
[ -e "/var/lib/systemd/linger/$(id -un)" ] && echo linger=yes
case $(cat /proc/self/cgroup 2>/dev/null) in */session-*.scope*) echo login_scope=yes ;; esac
exit 0
"""


def gather(shell: Shell) -> dict[str, str]:
    """Facts by short names; a fact that the host cannot determine is absent or empty.

    `clock_off` says by how many seconds, at least, its clock is ahead of ours, `records_age` how
    many seconds ago the oldest records of a run were last written. Raises what `run` raises.
    """
    began = time.time()
    script = _SCRIPT.replace("KEPT", " ".join(KEPT_BY_SUDO))
    result = shell.run(Call(script, FACTS_TIMEOUT))
    ended = time.time()
    lines = result.stdout.decode("utf-8", "replace").splitlines()
    facts = {name: value for name, mark, value in (line.partition("=") for line in lines) if mark}
    clock, since = facts.pop("clock", ""), facts.pop("records_since", "")
    if clock.isdecimal() and since.isdecimal():
        facts["records_age"] = str(max(0, int(clock) - int(since)))
    if clock.isdecimal():
        facts["clock_off"] = str(_distance(int(clock), began, ended))
    return facts


def _distance(clock: int, began: float, ended: float) -> int:
    """Seconds from the span in which the clock was read to the time that it showed."""
    if clock < int(began):
        return clock - int(began)
    return max(0, clock - int(ended))
