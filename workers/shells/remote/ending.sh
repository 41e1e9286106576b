# Ends a command and everything that it started; a part of the runner's text.

tell_left() { # stem key pid start dog . : print what is left of a command
  [ "$6" = . ] || return
  aim "$1/$2" "$3" "$4" "$5"
  find_left
  say left "$names"
}
end_command() { # stem key why grace pid start dog . : end a command and everything that it started
  [ "$8" = . ] || return
  { : >"$1.why.$2.$3"; } 2>/dev/null
  # Nothing that is contained outlives the first process there.
  case $2 in look*)
    {
      read -r pid from <"${1%/*/*}/.contain.$5.p" && began "$pid" && [ "$at" = "$from" ] &&
        kill -9 "$pid"
    } 2>/dev/null
    ;;
  esac
  finish "$1/$2" "$4" "$5" "$6" "$7"
  say k "$how" "$names"
}
aim() { # cookie pid start dog: select a command of a runner
  cookie=$1 runner=$2 from=$3 dog=$4 tracked=' '
}
finish() { # cookie grace pid start dog: end a command, set how and names; grace is in seconds
  aim "$1" "$3" "$4" "$5"
  grace=$2 how=
  find_left || return 0
  how=TERM
  send TERM
  send CONT
  await_end "$grace" '' && return
  how=KILL
  await_end 5 KILL || how=LEFT
}
tracks() { case $tracked in *" $1 "*) return 0 ;; esac; return 1; }
belongs() { # pid, and the fields of its stat: check whether the command started it
  tracks "$1" || tracks "$3" && return
  [ "$3" = "$runner" ] && [ "$1" != "$dog" ] && return
  case $marked in *"/$1/"*) return 0 ;; esac
  # Only its session identifies a process of another account that has lost its parent.
  [ "$5" = "$runner" ] && [ "$3" = 1 ] && [ "${21}" -ge "$from" ] && [ ! -r "/proc/$1/environ" ]
}
scan() {
  left= grown= IFS=$newline
  for line in $stats; do
    unset IFS
    pid=${line%% *} name=${line%)*}
    set -- "$pid" ${line##*) }
    belongs "$@" || continue
    tracks "$pid" || { tracked="$tracked$pid " grown=1; }
    case $2 in Z | X) ;; *) left="$left $pid" names="$names $pid(${name#*(})" ;; esac
  done
  unset IFS
}
try_grep() { # check whether grep sees more than the first variable of a process
  [ "$greps" ] || { LOOK=1 grep -qF LOOK=1 /proc/self/environ && greps=: || greps=false; }
  $greps
}
env_of() { { tr '\0' '\n' <"/proc/$1/environ"; } 2>/dev/null; }
mark() { # text environ...: set marked to those of the processes that have this text there
  if try_grep; then
    marked=$(grep -lsF "$@")
    return
  fi
  # A grep that ends a line at a NUL does not.
  marked= IFS=$newline
  for line in $stats; do
    unset IFS
    pid=${line%% *}
    set -- "$1" ${line##*) }
    [ "${21}" -ge "$from" ] && [ -O "/proc/$pid" ] || continue
    env_of "$pid" | grep -qF "$1" && marked="$marked/$pid/"
  done
  unset IFS
}
find_left() {
  grown=1
  # Read everything with one cat: a shell reads a file in /proc byte by byte.
  stats=$(cat /proc/[0-9]*/stat 2>/dev/null)
  mark "REPLAN_ATTEMPT=$cookie" /proc/[0-9]*/environ
  while [ "$grown" ]; do names= && scan; done
  [ "$left" ]
}
send() {
  kill "-$1" $left 2>/dev/null || [ "$uid" = 0 ] || sudo -n kill "-$1" $left 2>/dev/null
}
await_end() { # seconds signal
  uptime
  give_up=$((now + $1 + 1))
  while find_left; do
    uptime
    [ "$now" -lt "$give_up" ] || return 1
    [ -z "$2" ] || send "$2"
    sleep 0.1 || sleep 1
  done
}

# What a command that has ended left running, for its result. Nearly always nothing: so first the
# numbers of the processes that were started since are looked at, which starts no process.
find_stayed() { # cookie: set stayed to the names of at most eight
  stats= pid=$oldest newest_at=$now
  read -r _ _ _ _ newest </proc/loadavg
  if [ "$newest" -ge "$oldest" ] && [ "$((newest - oldest))" -le 256 ]; then
    while [ "$pid" -lt "$newest" ]; do
      pid=$((pid + 1))
      [ ! -d "/proc/$pid" ] || set -- "$@" "/proc/$pid/stat"
    done
  else
    set -- "$1" /proc/[0-9]*/stat
  fi
  case $# in
  1) return ;;
  [2-4])
    for file; do
      { read -r line <"$file"; } 2>/dev/null && stats="$stats$line$newline"
    done
    ;;
  *) stats=$(shift && cat "$@" 2>/dev/null) ;;
  esac
  own_mark=REPLAN_ATTEMPT=$1
  sift "$stats"
  [ -z "$stats" ] || keep_own
}
newer() { # pid: check that it was assigned while the command ran
  [ "$1" -gt "$oldest" ] || { [ "$newest" -lt "$oldest" ] && [ "$1" -le "$newest" ]; }
}
sift() { # stats: set stats to those that the command may have started, and environs to their files
  stats= environs= IFS=$newline
  for line in $1; do
    unset IFS
    set -- "${line%% *}" ${line##*) }
    # Not what is over, nor a thread; and the watch starts processes in the same session.
    case $2${37} in Z* | X* | ? | *-1) continue ;; esac
    [ "$3" != "$runner_pid" ] && [ "$3" != "$watch_pid" ] && newer "$1" || continue
    [ "$5" = "$runner_pid" ] || newer "$5" || continue
    stats="$stats$line$newline" environs="$environs /proc/$1/environ"
  done
  unset IFS
}
keep_own() { # set stayed to those of stats that are still there and have own_mark
  more=0 worn=
  # With one process for them all: on a busy host, nearly all of them are of others.
  try_grep && worn=$(grep -aosHF -e "$own_mark" -e REPLAN_ATTEMPT= -e = $environs)
  IFS=$newline
  for line in $stats; do
    unset IFS
    set -- "${line%% *}" ${line##*) }
    bears "$@" && began "$1" || continue
    more=$((more + 1))
    [ "$more" -gt 8 ] || stayed="$stayed $1(${name#*(})"
  done
  unset IFS
  [ "$more" -le 8 ] || stayed="$stayed +$((more - 8))"
}
bears() { # pid, and the fields of its stat: check for the mark, or without any for the session
  case $worn in
  *"/$1/environ:$own_mark"*) return 0 ;;
  *"/$1/environ:R"*) return 1 ;;
  *"/$1/"*) ;;
  *)
    # For a moment, a process that becomes another program has none.
    for turn in 1 2 3; do
      case $(env_of "$1") in
      *"$own_mark"*) return 0 ;;
      *REPLAN_ATTEMPT=*) return 1 ;;
      ?*) break ;;
      esac
    done
    ;;
  esac
  [ "$3$5" = "1$runner_pid" ]
}
