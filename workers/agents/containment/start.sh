# Starts an agent in a containment of the host's kernel, and ends with its exit code; ids.sh is before it.
#
# /bin/sh (dash, bash, busybox) runs it. Lines before it set replan_home (the folder of the attempt, for
# its files), replan_shown (lines "rw PATH" or "ro PATH"), replan_words (programs, one a line),
# replan_program (the text that becomes the agent), replan_stage and replan_first (what the keeper and
# the first process run), replan_networks, replan_gateway (a host and a port), what hides (sealing.sh),
# and replan_python and replan_perl, the relay to the gateway.
#
# The keeper is the root of a namespace of users, and of one of mounts. Below it lives the first process
# of a namespace of processes, and below that, without any power over the others, the agent. All end with
# the agent. If no containment can be made, nothing runs: the exit code is 125, and the last line of the
# errors says why.
newline='
'
refuse() { # why words
  rm -rf "$folder"
  echo "uncontained $*" >&2
  exit 125
}
start_contained() {
  uid=$(id -u) folder=$replan_home.contained why=namespaces
  for needed in unshare mount mkfifo find sed sort readlink; do
    command -v $needed >/dev/null 2>&1 || refuse program $needed
  done
  rm -rf "$folder"
  mkdir -p -m 700 "$folder" && mkfifo -m 600 "$folder/i" "$folder/o" "$folder/r" 2>/dev/null ||
    refuse records
  exec 8<>"$folder/i" 9<>"$folder/o"
  # A signal to all that belongs to the attempt ends the agent, and then these.
  trap : HUP INT QUIT TERM
  replan_uid=$uid replan_gid=$(id -g) relay_pid=
  replan_sockets=$(sed -n 's|^.* \(/.*\)$|\1|p' /proc/net/unix 2>/dev/null | sort -u)
  show_programs
  # The namespace of the network begins in between: the relay has one half on either side.
  private=
  [ "$replan_networks" = all ] || {
    private=-n
    open_gateway
  }
  export replan_home replan_shown replan_program replan_stage replan_first replan_networks \
    replan_gateway replan_hidden replan_names replan_public replan_uid replan_gid \
    replan_sockets replan_workspaces replan_relay replan_text
  answer_keeper </dev/null >/dev/null 2>&1 &
  answer_pid=$!
  unshare -U -m -i $private /bin/sh -c "$replan_stage" sh \
    4<&0 5>&1 6>&2 <&8 >&9 2>"$folder/errors" 8>&- 9>&-
  code=$?
  echo gone >&9
  wait "$answer_pid"
  [ -z "$relay_pid" ] || kill "$relay_pid" 2>/dev/null
  if [ ! -e "$folder/ready" ]; then
    [ ! -e "$folder/why" ] || read -r why <"$folder/why"
    refuse "$why" "$(tail -n 1 "$folder/errors" 2>/dev/null)"
  fi
  rm -rf "$folder"
  exit "$code"
}
answer_keeper() { # give the keeper its ids; note whether the agent begins
  while read -r said words <&9; do
    case $said in
    map)
      give_ids "$words" /proc "0 $uid 1" "0 $replan_gid 1" || {
        echo ids >"$folder/why"
        words=
      }
      echo ${words:+go} >&8
      ;;
    ready)
      : >"$folder/ready"
      return
      ;;
    no)
      echo "$words" >"$folder/why"
      return
      ;;
    gone) return ;;
    esac
  done
}
show_programs() { # what starts the agent may lie where something is hidden
  IFS=$newline
  for each in $replan_words; do
    found=$(command -v -- "$each") && found=$(readlink -f -- "$found") && [ -f "$found" ] || continue
    replan_shown="$replan_shown${newline}ro ${found%/*}"
  done
  IFS=:
  for each in $PATH; do
    case $each in /tmp/* | /var/tmp/*) replan_shown="$replan_shown${newline}ro $each" ;; esac
  done
  unset IFS
}
open_gateway() { # start the half of the relay that reaches the gateway
  for replan_relay in python3 /usr/libexec/platform-python perl; do
    command -v "$replan_relay" >/dev/null 2>&1 || continue
    case $replan_relay in
    perl) replan_relay='perl -e' replan_text=$replan_perl ;;
    *) replan_relay="$replan_relay -I -S -c" replan_text=$replan_python ;;
    esac
    # shellcheck disable=SC2086 # the words of its command
    (cd "$folder" && exec $replan_relay "$replan_text" out $replan_gateway) \
      </dev/null >/dev/null 2>"$folder/relay" 8>&- 9>&- &
    relay_pid=$!
    return
  done
  refuse relay
}
