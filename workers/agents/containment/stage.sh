# What the keeper of a contained agent runs: sh -c, in new namespaces of users and mounts. What stands in
# ids.sh and sealing.sh comes before it. 4, 5 and 6 are the streams of the agent.
if [ -z "$replan_mapped" ]; then
  await_ids
  replan_mapped=1 exec /bin/sh -c "$replan_stage" sh
fi
trap : HUP INT QUIT TERM
uid=$replan_uid relay_pid=
meet_gateway() { # start the half of the relay that the agent reaches
  folder=$replan_home.contained
  # shellcheck disable=SC2086 # the words of its command
  (cd "$folder" && exec $replan_relay "$replan_text" in 127.0.0.1 "${replan_gateway#* }") \
    </dev/null >"$folder/r" 4<&- 5>&- 6>&- &
  relay_pid=$!
  read -r said <"$folder/r" && [ "$said" = listening ] || no relay
}
prepare() { # mount what will be shown in the place, and make folders to show it in
  mkdir -p "$place/tmp" && mount --bind "$replan_home/temporary" "$place/tmp" || no workspace
  number=0 IFS=$newline
  for each in $replan_shown; do
    number=$((number + 1)) path=${each#???}
    [ -d "$path" ] || continue
    mkdir -p "$place/shown.$number" "$place/with$path" &&
      mount --bind "$path" "$place/shown.$number" &&
      weaken "${each%% *}" "$place/shown.$number" || no workspace
    case $path in
    /tmp/*) mkdir -p "$place/tmp/${path#/tmp/}" ;;
    /var/tmp/*) mkdir -p "$place/tmp/${path#/var/tmp/}" ;;
    esac
  done
  unset IFS
  case $HOME in
  /tmp/*) mkdir -p "$place/tmp/${HOME#/tmp/}" ;;
  /var/tmp/*) mkdir -p "$place/tmp/${HOME#/var/tmp/}" ;;
  esac
  weaken rw "$place/tmp" || no workspace
  # Names of hosts are found by a file that often lies among the sockets.
  names=$(readlink -f /etc/resolv.conf)
  case $names in
  /run/*) mkdir -p "$place/with${names%/*}" && cp "$names" "$place/with$names" || no workspace ;;
  esac
}
weaken() { # rw|ro mount: no devices and no other accounts there; what it has not keeps away
  with=
  while read -r _ _ _ _ at options _; do [ "$at" != "$2" ] || with=$options; done </proc/self/mountinfo
  [ "$1" = rw ] || with=ro${with#r[wo]}
  mount -o "remount,bind,$with,nosuid,nodev" "$2"
}
private_places() { # print what an agent has no business in
  echo /run
  IFS=$newline
  for each in ${replan_workspaces:+"$replan_workspaces"/*/ours.git}; do
    [ ! -d "$each" ] || echo "${each%/ours.git}"
  done
}
show() { # over what is sealed and hidden, what the agent works with
  # A home that lies among the temporary files is shown as it is now: sealed, its secrets hidden.
  case $HOME in
  /tmp/* | /var/tmp/*)
    mkdir "$place/home" && mount --rbind "$HOME" "$place/home" || no workspace
    ;;
  esac
  {
    [ ! -d "$place/home" ] || row "$place/home" "$HOME" | sed 's/ bind / rbind /'
    for each in /tmp /var/tmp; do
      [ ! -d "$each" ] || [ -L "$each" ] || row "$place/tmp" "$each"
    done
    number=0 IFS=$newline
    for each in $replan_shown; do
      number=$((number + 1)) path=${each#???}
      [ -d "$place/shown.$number" ] || continue
      case $each in
      rw* | ro\ /tmp/* | ro\ /var/tmp/*) ;;
      *) [ ! "$path" -ef "$place/shown.$number" ] || continue ;;
      esac
      row "$place/shown.$number" "$path"
    done
    unset IFS
  } | LC_ALL=C sort -k 2,2 >"$table" # a folder before what lies in it
  # In one go: the program that mounts may lie in a place that is covered first.
  mount -a -T "$table" || no workspace
}
[ "$replan_networks" = all ] || meet_gateway
make_place null zero full random urandom tty
prepare
replan_folder='' replan_records='' replan_scratch='' replan_private=$(private_places)
# A file may vanish between the two.
cover || cover || cover || no secrets
show_proc
seal
show
mount -t tmpfs -o mode=1777,nosuid,nodev contained "$place/dev/shm" || no tmpfs
mkdir "$place/dev/pts" && {
  mount -t devpts -o newinstance,ptmxmode=0666,nosuid,noexec contained "$place/dev/pts" &&
    ln -s pts/ptmx "$place/dev/ptmx" || rmdir "$place/dev/pts"
}
cd "$place" || no tmpfs
mount --rbind "$place/dev" /dev || no devices
# Shells name the number of processes differently.
{ ulimit -u 16384 || ulimit -p 16384; } 2>/dev/null
# The first process there is what is started next, so this shell does not become it.
unshare -p /bin/sh -c '/bin/sh -c "$replan_first" sh; exit "$?"' sh
code=$?
[ -z "$relay_pid" ] || kill "$relay_pid"
exit "$code"
