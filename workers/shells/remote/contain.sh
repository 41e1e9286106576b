# Makes the containment of a runner: namespaces in which a look cannot change anything outside.
#
# A runner gets this text with the first call of contain. The keeper (contained.sh) is the root of a
# namespace of users, and of one of mounts, in which every file system is read-only. Below it lives
# the first process of a namespace of processes. It takes one look after another from a pipe, and
# ends what each leaves running. Both end with the runner.
contain() { # stage hidden names public folder . : make the containment anew; say what came of it
  [ "$6" = . ] || return
  leave_containment
  # What the last command has read is no longer near enough: the keeper is new.
  newest_at= why= words= keeper_stage=$1 keeper_hidden=$2 keeper_names=$3
  keeper_public=$4 keeper_folder=$5
  make_containment || { leave_containment; say uncontained "$why" "$words"; return; }
  say contained "$look_pid" "$uid"
}
make_containment() {
  for needed in unshare mount mkfifo find sed sort; do
    command -v $needed >/dev/null 2>&1 || { why=program words=$needed; return 1; }
  done
  keeper_pipe=${home_root:-$memory_root}/.contain.$runner_pid
  rm -f "$keeper_pipe".?
  mkfifo -m 600 "$keeper_pipe.i" "$keeper_pipe.o" 2>/dev/null || { why=records; return 1; }
  command exec 8<>"$keeper_pipe.i" 9<>"$keeper_pipe.o" || { why=records; return 1; }
  shown_host=$(mounts_and_sockets)
  start_keeper
  (
    trap 'kill "$!"; exit' TERM
    sleep 10 >/dev/null &
    wait "$!" && echo slow >&9
  ) </dev/null 3>&- 4>&- 5>&- 8>&- &
  timer_pid=$!
  await_keeper
  set -- "$?"
  kill "$timer_pid" 2>/dev/null
  wait "$timer_pid" 2>/dev/null
  [ "$1" = 0 ] || words=$(tail -n 1 "$keeper_pipe.e" 2>/dev/null)
  rm -f "$keeper_pipe".[ioe]
  return "$1"
}
start_keeper() { # in the background, and no child of the runner: its children are commands
  (
    exec >"$keeper_pipe.o" 2>"$keeper_pipe.e" 3>&- 4>&- 5>&-
    (
      trap - HUP INT QUIT TERM ALRM USR1 USR2 PIPE
      [ "$uid" != 0 ] || enter_groups
      sockets=$(sed -n 's|^.* \(/.*\)$|\1|p' /proc/net/unix 2>/dev/null | sort -u)
      # Looks see nothing of the environment of the account.
      ${has_setsid:+setsid} env -i PATH="$PATH" HOME="$HOME" USER="$USER" LOGNAME="$LOGNAME" \
        LC_ALL="$LC_ALL" TERM=dumb NO_COLOR=1 PAGER=cat GIT_PAGER=cat SYSTEMD_PAGER=cat \
        replan_sockets="$sockets" replan_hidden="$keeper_hidden" replan_names="$keeper_names" \
        replan_public="$keeper_public" replan_records="$home_root" replan_uid="$uid" \
        replan_gid="$(id -g)" replan_folder="${keeper_folder:-$first_folder}" \
        replan_stage="$keeper_stage" replan_end="$record_nonce" \
        unshare -U -m -i -n /bin/sh -c "$keeper_stage" sh
      echo gone
    ) <"$keeper_pipe.i" 8>&- 9>&- &
  )
}
enter_groups() { # bound the number of processes and the memory, which root has no limit of
  for top in /sys/fs/cgroup /sys/fs/cgroup/pids /sys/fs/cgroup/memory; do
    [ -f "$top/cgroup.procs" ] || continue
    rmdir "$top"/replan-looks.*
    mkdir "$top/replan-looks.$runner_pid" || continue
    for limit in pids.max=512 memory.max=2147483648 memory.limit_in_bytes=2147483648; do
      [ -f "$top/replan-looks.$runner_pid/${limit%%=*}" ] &&
        echo "${limit#*=}" >"$top/replan-looks.$runner_pid/${limit%%=*}"
    done
    echo 0 >"$top/replan-looks.$runner_pid/cgroup.procs"
  done
} 2>/dev/null
await_keeper() { # answer the keeper until the first process waits for looks
  while read -r said words <&9; do
    case $said in
    map) give_ids "$words" /proc "0 $uid 1" "0 $(id -g) 1" || { why=ids; return 1; }; echo go >&8 ;;
    mapped) echo go >&8 ;;
    ready)
      look_pid=$words
      began "$look_pid" || { why=gone; return 1; }
      look_start=$at changed= looked=
      { echo "$look_pid $look_start" >"$keeper_pipe.p"; } 2>/dev/null || { why=records; return 1; }
      return
      ;;
    gone) why=namespaces; return 1 ;;
    slow) why=slow; return 1 ;;
    no) why=$words; return 1 ;;
    esac
  done
}
leave_containment() {
  [ -z "$look_pid" ] || rm -f "$keeper_pipe.p"
  look_pid=
  { command exec 8>&- 9>&-; } 2>/dev/null
}
is_contained() { # check that it is there, shows the host as it is, and has no looks of other passes
  # What a command has made may be a secret that is not hidden yet.
  [ "$look_pid" ] && began "$look_pid" && [ "$at" = "$look_start" ] || return 1
  [ "$changed" ] || return 0
  [ "$changed" != all ] || return 1
  [ "$shown_host" = "$(mounts_and_sockets)" ] || return 1
  [ "$changed" = pass ] && [ "$looked" ] || { changed=; return 0; }
  kill -KILL "$look_pid" && await_keeper
}
mounts_and_sockets() {
  sed -n -e '/ - /p' -e 's/.* 00010000 .... .. //p' -e 's|.* 0002 .. \([0-9]* /\)|\1|p' \
    /proc/self/mountinfo /proc/net/unix
}
end_looks() { # whatever answers in their place, nothing of them stays
  began "$look_pid" && [ "$at" = "$look_start" ] && kill -KILL "$look_pid"
  look_pid=
}
run_contained() { # key command: set last to its exit code; if that fails, why says more
  is_contained || { why=uncontained; return 1; }
  for stream in 5 7; do
    [ -f "/proc/$look_pid/fd/$stream" ] && true >"/proc/$look_pid/fd/$stream" || return 1
  done
  looked=1
  printf '%s\n%s\n%s\n%s\n' "$open_stem/$1" "$PWD" "$2" "$record_nonce" >&8
  read -r said words <&9 && [ "$said" = e ] || { end_looks; why=broken; return 1; }
  last=$words
  [ ! -s "/proc/$look_pid/fd/5" ] || cat "/proc/$look_pid/fd/5" >&4
  [ ! -s "/proc/$look_pid/fd/7" ] || cat "/proc/$look_pid/fd/7" >&5
}
