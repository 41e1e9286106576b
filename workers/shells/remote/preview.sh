# Runs a command where nothing that it changes stays, and tells what it would have changed.
#
# The file systems are overlays on a tmpfs, the namespaces are private, and the capabilities that
# lead out are gone. Process 1 of the PID namespace builds the place, watches over the command,
# and compares; it stays outside of the user namespace of the command, which so can neither trace
# it nor look into its /proc entry. Called as: sh -c TEXT preview TEXT begin ARGUMENTS...
self=$1
shift
base=/sys # covered by a tmpfs in the mount namespace: every Linux has it, and no file lies there
tell() { printf '%s=%s\0' "$1" "$2"; }
none() { # why: there is no preview
  tell none "$1"
  exit 0
}
has() { command -v "$1" >/dev/null 2>&1; }
below() { sh -c "$self" preview "$self" "$@"; }

begin() { # seconds, kilobytes, whether sudo is used, the command, its test, names of variables left empty
  export p_path="$PATH" p_seconds="$1" p_size="$2" p_user='' p_groups='' p_here="$PWD"
  p_command=$4
  p_test=$5
  export p_command p_test
  export PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"
  p_sudo=$3
  shift 5
  export p_empty="$*" p_root=''
  for tool in unshare mount find stat chroot mkfifo; do has "$tool" || none tools; done
  [ -r /proc/self/mountinfo ] && [ -d /sys ] || none proc
  if [ "$(id -u)" = 0 ]; then
    p_root=1 begin_as_root
  elif [ "$p_sudo" = yes ] && sudo -n true 2>/dev/null; then
    p_user=$(id -u):$(id -g)
    p_groups=$(id -G | tr ' ' ,)
    export p_variables="$(export -p)"
    exec sudo -n sh -c 'self=$1; eval "$2"; p_root=1; export p_root; exec sh -c "$self" preview "$self" begin_as_root' \
      preview "$self" "$p_variables"
  else
    unshare --help 2>&1 | grep -q -e '--root' || none tools
    [ "$p_sudo" = yes ] && tell complaint no_rights
    tell account "$(id -u) $(id -g)"
    enclose --user --map-root-user
  fi
}
enclose() { # options: in namespaces of its own, which end with this shell
  kill_child=
  unshare --help 2>&1 | grep -q -e --kill-child && kill_child=--kill-child
  # shellcheck disable=SC2086
  tick | unshare "$@" -m -p -f -n -i -u $kill_child sh -c "$self" preview "$self" build ||
    tell none namespaces
}
tick() { # the clock of process 1: one that the command could stop would be none
  while echo; do sleep 0.02 || sleep 1; done 2>/dev/null
}
begin_as_root() {
  export p_root=1
  setpriv --help 2>&1 | grep -q -e --bounding-set || none tools
  groups=
  for top in /sys/fs/cgroup /sys/fs/cgroup/pids /sys/fs/cgroup/memory; do
    [ -f "$top/cgroup.procs" ] || continue
    rmdir "$top"/replan-preview.* 2>/dev/null
    group=$top/replan-preview.$$
    mkdir "$group" 2>/dev/null || continue
    groups="$groups $group"
    for limit in pids.max=512 memory.max=1073741824 memory.limit_in_bytes=1073741824; do
      [ -f "$group/${limit%%=*}" ] && echo "${limit#*=}" 2>/dev/null >"$group/${limit%%=*}"
    done
  done
  (
    for group in $groups; do echo 0 2>/dev/null >"$group/cgroup.procs"; done
    enclose
  )
  for group in $groups; do
    rmdir "$group" 2>/dev/null || { sleep 0.1 && rmdir "$group"; } 2>/dev/null
  done
}

build() { # as process 1: everything that the command may see
  sockets=$(sockets)
  mount --make-rprivate / || none namespaces
  mounts=$(while read -r _ _ device root at options rest; do
    rest=${rest#*- }
    printf '%s\n' "$at ${rest%% *} ${options%%,*} $device $root"
  done </proc/self/mountinfo)
  mount -t tmpfs -o "size=${p_size}k,nr_inodes=50000,mode=0755" replan-preview "$base" ||
    none namespaces
  cd "$base" && mkdir new proc overlays dev || none namespaces
  mount -t proc -o nosuid,nodev,noexec proc proc 2>/dev/null || none proc
  : >empty
  : >"$base/overlays/list"
  : >ways
  if [ -n "$p_root" ]; then
    cover_mounts
  else
    find_ways >writable
    cover_folder ''
  fi
  [ -s overlays/list ] || none overlay
  private_places
  hide_sockets
  watch
}
sockets() { # the paths of the sockets that something on this host listens to
  while read -r _ _ _ _ _ _ _ path; do
    case $path in /*) printf '%s\n' "$path" ;; esac
  done </proc/net/unix | sort -u
}
cover_mounts() { # for root: an overlay over every file system
  number=0 seen=' '
  while read -r at kind access device root; do
    case $at in /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) continue ;; esac
    case $kind in
      autofs | nsfs | bpf | cgroup* | debugfs | tracefs | fusectl | rpc_pipefs | binfmt_misc | mqueue) continue ;;
    esac
    case $seen in *" $at "*) continue ;; esac
    seen="$seen$at "
    [ "$at" = / ] && path= || path=$at
    number=$((number + 1))
    case $at in *[\\:,]*) tell unmounted "$at" && continue ;; esac
    case $at in /var/lib/docker/* | /var/lib/containers/* | /snap/*) tell unmounted "$at" && continue ;; esac
    [ "$number" -gt 40 ] && tell unmounted "$at" && continue
    [ -e "new$path" ] || mkdir -p "new$path" 2>/dev/null || continue
    if [ ! -d "$at" ]; then
      read_only "$path"
    elif [ "$access" = ro ]; then
      read_only "$path" && tell fixed "$at"
    else
      overlay "$number" "$path" || { read_only "$path" && tell fixed "$at"; } || tell unmounted "$at"
    fi
    tell mount "$device $root $at"
  done <<END
$mounts
END
}
cover_folder() { # path: for others, an overlay over every folder that no mount lies below
  mkdir -p "new$1"
  for each in "$1"/* "$1"/.[!.]*; do
    case $each in /proc | /sys | /dev) continue ;; esac
    if [ -L "$each" ]; then
      ln -s "$(readlink "$each")" "new$each"
    elif [ ! -e "$each" ]; then
      continue
    elif [ ! -d "$each" ]; then
      : >"new$each" && read_only "$each"
    elif holds_mounts "$each"; then
      tell fixed "$each"
      cover_folder "$each"
    else
      mkdir "new$each"
      number=$((${number:-0} + 1))
      overlay "$number" "$each" || { read_only "$each" && tell fixed "$each"; } || tell unmounted "$each"
    fi
  done
  chmod 555 "new$1"
}
holds_mounts() { # path
  case "
$mounts" in *"
$1/"*) return 0 ;; esac
  return 1
}
overlay() { # number, path: what is written there stays on the tmpfs
  top=overlays/$1
  mkdir "$top" "$top/upper" "$top/work" || return 1
  same_access "${2:-/}" "$top/upper"
  [ -n "$p_root" ] || open_ways "$2" "$top/upper"
  suid=,nosuid
  [ -n "$p_user" ] && suid=
  layers="lowerdir=${2:-/},upperdir=$base/$top/upper,workdir=$base/$top/work"
  if [ -n "$p_root" ]; then
    options="nodev$suid,redirect_dir=off,metacopy=off"
  else
    options=nodev,nosuid,userxattr
  fi
  mount -t overlay -o "$options,$layers" overlay "new$2" 2>/dev/null ||
    mount -t overlay -o "nodev$suid,$layers" overlay "new$2" 2>/dev/null || return 1
  printf '%s %s\n' "$1" "$2" >>overlays/list
}
find_ways() { # print the folders that the account may write to
  set --
  for each in /*; do
    case $each in /proc | /sys | /dev | /usr | /bin | /sbin | /lib* | /boot) continue ;; esac
    [ ! -d "$each" ] || [ -L "$each" ] || set -- "$@" "$each"
  done
  find "$@" -mindepth 1 -maxdepth 4 -type d -writable -print -prune 2>/dev/null | head -n 200
}
open_ways() { # folder, upper: make the folders of others on the way to those
  # An overlay copies them once something below changes, and cannot give them their owner.
  while IFS= read -r found; do
    case $found in "$1"/*) rest=${found#"$1"/} ;; *) continue ;; esac
    way=$1 copy=$2
    while way=$way/${rest%%/*} copy=$copy/${rest%%/*} && [ ! -O "$way" ]; do
      [ -d "$copy" ] || open_way "$way" "$copy" || break
      case $rest in */*) rest=${rest#*/} ;; *) break ;; esac
    done
  done <writable
}
open_way() { # folder, copy: one that is gone by now is none of the changes
  mkdir "$2" || return
  same_access "$1" "$2" || { rmdir "$2"; return 1; }
  printf '%s %s\n' "$(stat -c %f "$2")" "$1" >>ways
}
same_access() { # folder, upper: the overlay's top has the mode of its upper folder
  access=$(stat -c '%a %u:%g' "$1" 2>/dev/null) || return
  chown "${access#* }" "$2" 2>/dev/null
  chmod "${access% *}" "$2"
  [ -n "$p_root" ] || [ -w "$1" ] || chmod a-w "$2"
}
read_only() { # path
  [ -d "$1" ] || [ -e "new$1" ] || : >"new$1"
  mount --bind "$1" "new$1" 2>/dev/null &&
    mount -o remount,bind,ro,nosuid,nodev "new$1" 2>/dev/null
}
private_places() { # /proc of the namespace, /sys without a control group, /dev without a disk
  for each in proc sys dev; do [ -d "new/$each" ] || mkdir "new/$each"; done
  mount --bind proc new/proc && mount -o remount,bind,ro,nosuid,nodev,noexec new/proc || none proc
  mount -t sysfs -o ro,nosuid,nodev,noexec sysfs new/sys 2>/dev/null ||
    mount -t tmpfs -o ro,size=4k none new/sys || none namespaces
  mount -t tmpfs -o mode=0755,size=16384k,nosuid replan-dev new/dev || none namespaces
  for each in null zero full random urandom; do
    : >"new/dev/$each"
    mount --bind "/dev/$each" "new/dev/$each" 2>/dev/null
  done
  mkdir -m 1777 new/dev/shm
  mkdir -m 755 new/dev/.replan
  ln -s /proc/self/fd new/dev/fd
  for each in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${each%:*}" "new/dev/${each#*:}"; done
  stand_ins
}
stand_ins() { # programs that speak to what is not here note what they were asked instead
  mkdir new/dev/.replan/bin
  : >new/dev/.replan/seen
  chmod 666 new/dev/.replan/seen
  cat >new/dev/.replan/bin/pkill <<'END'
#!/bin/sh
{ printf 'signal\037%s' "${0##*/}"; for each do printf '\037%s' "$each"; done; echo; } >>/dev/.replan/seen
END
  chmod 755 new/dev/.replan/bin/pkill
  for each in killall kill skill fuser; do cp -p new/dev/.replan/bin/pkill "new/dev/.replan/bin/$each"; done
  cat >new/dev/.replan/bin/systemctl <<'END'
#!/bin/sh
PATH=${PATH#/dev/.replan/bin:}
verb=
for each do case $each in -*) ;; *) verb=$each; break ;; esac; done
case $verb in
  start | stop | restart | try-restart | reload | reload-or-restart | try-reload-or-restart | condrestart | kill | \
    isolate | daemon-reload | daemon-reexec | reset-failed | set-property | poweroff | reboot | halt | kexec | suspend | hibernate)
    { printf 'service\037systemctl'; for each do printf '\037%s' "$each"; done; echo; } >>/dev/.replan/seen
    exit 0 ;;
  enable | disable | mask | unmask | preset | reenable | link | add-wants | set-default | is-enabled)
    SYSTEMD_OFFLINE=1 exec systemctl "$@" ;;
esac
exec systemctl "$@"
END
  chmod 755 new/dev/.replan/bin/systemctl
}
hide_sockets() { # an overlay connects nobody since Linux 4.19; before, and elsewhere, this does
  version=$(uname -r)
  minor=${version#*.}
  minor=${minor%%[!0-9]*}
  old=
  if [ "${version%%.*}" -lt 4 ] || { [ "${version%%.*}" -eq 4 ] && [ "$minor" -lt 19 ]; }; then old=1; fi
  printf '%s\n' "$sockets" | while read -r each; do
    [ -S "new$each" ] || continue
    [ -z "$old" ] && [ "$(stat -f -c %T "new$each" 2>/dev/null)" = overlayfs ] && continue
    mount --bind empty "new$each" 2>/dev/null || exit 1
  done || none sockets
}

watch() { # run the command for as long as it may, and for as long as anything of it runs
  mkfifo ready go
  enter &
  child=$!
  read -r _ <ready || none namespaces
  if [ -n "$p_root" ]; then
    map=$(while read -r inside _ count; do echo "$inside $inside $count"; done <"proc/self/uid_map")
    gids=$(while read -r inside _ count; do echo "$inside $inside $count"; done <"proc/self/gid_map")
  else
    read -r _ uid _ </proc/self/uid_map
    read -r _ gid _ </proc/self/gid_map
    map="$uid 0 1" gids="$gid 0 1"
  fi
  { printf '%s\n' "$gids" >"proc/$child/gid_map" && printf '%s\n' "$map" >"proc/$child/uid_map"; } 2>/dev/null ||
    none namespaces
  echo go >go
  rm -f ready go
  read -r began _ </proc/uptime
  began=${began%%.*}
  available
  free=$kilobytes
  ended=
  while read -r _; do # process 1 starts nothing here: the command could stop that
    others || break
    read -r now _ </proc/uptime
    if [ $((${now%%.*} - began)) -ge "$p_seconds" ]; then
      [ -n "$ended" ] && tell ended background || tell ended time
      break
    fi
    [ "$count" -gt 256 ] && tell ended processes && break
    available
    [ $((free - kilobytes)) -gt 1572864 ] && tell ended memory && break
  done
  kill -9 -1 2>/dev/null
  wait "$child" 2>/dev/null
  tell code "$?"
  compare
}
available() { # set kilobytes to the memory that is free
  kilobytes=0
  while read -r name value _; do
    [ "$name" = MemAvailable: ] && kilobytes=$value && return
  done </proc/meminfo
}
others() { # is anything alive but process 1? sets count, and ended once the command itself is not
  count=0 ended=1
  for each in proc/[0-9]*; do
    [ "$each" = proc/1 ] && continue
    read -r line 2>/dev/null <"$each/stat" || continue
    case ${line##*) } in Z* | X*) continue ;; esac
    count=$((count + 1))
    [ "$each" = "proc/$child" ] && ended=
  done
  [ "$count" -gt 0 ]
}
enter() { # the command's process: in a user namespace, which gives it no right to anything outside
  exec <"new/dev/null" >"out" 2>&1
  [ -n "$p_root" ] && exec unshare -U -n -i -u sh -c "$self" preview "$self" drop_rights
  exec unshare -U -n -i -u --root="$base/new" sh -c "$self" preview "$self" run_as_user 7<>ready 8<>go
}
drop_rights() { # wait until the user namespace has its accounts, then leave the host's root
  echo ready >ready
  read -r _ <go
  exec chroot "$base/new" sh -c "$self" preview "$self" run_as_root
}
run_as_root() {
  rights=-all,+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setfcap,+net_bind_service
  set -- setpriv --inh-caps=-all "--bounding-set=$rights"
  if [ -n "$p_user" ]; then
    set -- "$@" "--reuid=${p_user%:*}" "--regid=${p_user#*:}" "--groups=$p_groups"
  else
    set -- "$@" --no-new-privs
  fi
  run "$@"
}
run_as_user() {
  echo ready >&7
  read -r _ <&8
  exec 7>&- 8>&-
  if has setpriv; then run setpriv --no-new-privs; else run; fi
}
run() { # words: what the command is started through
  ulimit -c 0 2>/dev/null
  ulimit -v 4194304 2>/dev/null
  [ -n "$p_root" ] || ulimit -u 1024 2>/dev/null || ulimit -p 1024 2>/dev/null
  cd "$p_here" || exit 126
  command=$p_command test=$p_test PATH=/dev/.replan/bin:$p_path
  for each in $p_empty; do export "$each="; done
  unset p_path p_seconds p_size p_user p_groups p_here p_command p_test p_sudo p_empty p_root p_variables
  [ -n "$test" ] && exec "$@" /bin/sh -c '/bin/sh -c "$1" && /bin/sh -c "$2"' sh "$command" "$test"
  exec "$@" /bin/sh -c "$command"
}

compare() { # what the command has left on the overlays
  complaints
  asked
  find new/dev -type f ! -path 'new/dev/.replan/*' ! -path 'new/dev/shm/*' | head -n 20 |
    while IFS= read -r each; do [ ! -f "$each" ] || tell device "${each#new}"; done
  it='{''}' # in one piece, find would put paths into the text, too
  : >count
  while read -r number at; do
    find "overlays/$number/upper" -mindepth 1 -exec sh -c "$self" preview "$self" entries "$number" "$at" "$it" +
  done <overlays/list
  has diff || tell lacks diff
  has cmp || tell lacks cmp
  [ "$(stat -f -c %a .)" -gt 16 ] && [ "$(stat -f -c %d .)" -gt 16 ] || tell full tmpfs
  [ "$(wc -c <count)" -le 120 ] || tell many "$(find overlays/*/upper -mindepth 1 | wc -l)"
  tell done yes
}
complaints() { # what the last output says about what is not here; the output itself stays here
  for each in 'network:network is unreachable|could not resolve|name resolution|no address associated|name or service not known' \
    'daemon:cannot connect to the docker daemon|failed to connect to bus|could not connect to server|connection refused' \
    'space:no space left|disk quota' 'fixed_file:read-only file system' 'no_rights:operation not permitted|no new privileges|value too large for defined data type'; do
    tail -c 20000 out | grep -qiE "${each#*:}" && tell complaint "${each%%:*}"
  done
}
asked() { # what the stand-ins were asked, and which processes of the host that would have met
  set -f
  lines=0
  while IFS= read -r line; do
    lines=$((lines + 1))
    [ "$lines" -gt 20 ] && break
    IFS=$(printf '\037')
    # shellcheck disable=SC2086
    set -- $line
    unset IFS
    kind=$1
    shift
    tell "$kind" "$*"
    [ "$kind" = signal ] && has pgrep && met "$@"
  done <new/dev/.replan/seen
  set +f
}
met() { # a program that signals, and its words
  program=$1 exact=
  shift
  for each do
    shift
    case $each in -[0-9]* | -[A-Z]* | --signal=*) ;; *) set -- "$@" "$each" ;; esac
  done
  case $program in pkill) ;; killall) exact=-x ;; *) return ;; esac
  # shellcheck disable=SC2086
  pgrep -l $exact "$@" 2>/dev/null | head -n 20 | while IFS= read -r line; do tell process "$line"; done
}
entries() { # number, mount point, paths on the overlay's upper folder
  top=overlays/$1/upper at=$2
  shift 2
  for each do
    printf . >>count
    [ "$(wc -c <count)" -gt 120 ] && return
    path=$at${each#"$top"}
    entry "$path" "new$path"
  done
}
exists() { [ -e "$1" ] || [ -L "$1" ]; }
entry() { # path on the host, path on the overlay
  if ! exists "$2"; then
    if exists "$1"; then deleted "$1"; fi
  elif ! exists "$1"; then
    is_way "$1" "$2" && return # the host has removed it meanwhile
    tell created "$1"
    state "$2"
    content "$1" /dev/null "$2"
  else
    changed "$1" "$2"
  fi
}
deleted() { # path
  was=$(stat -c '%f %u %g %s %h' -- "$1") || return # the host has removed it, too
  tell deleted "$1"
  tell was "$was"
  [ -L "$1" ] && tell had "$(readlink -- "$1")"
  if [ -d "$1" ] && [ ! -L "$1" ]; then
    tell files "$(find "$1" -xdev 2>/dev/null | head -n 10001 | wc -l)"
  else
    digest "$1"
  fi
}
state() { # path on the overlay
  tell is "$(stat -c '%f %u %g %s %h' -- "$1")"
  [ -L "$1" ] && tell has "$(readlink -- "$1")"
  digest "$1"
}
digest() { # path: so that a file that was only moved is known again
  [ -f "$1" ] && [ ! -L "$1" ] && [ "$(stat -c %s -- "$1")" -le 4194304 ] || return
  tell digest "$(cksum <"$1")"
}
changed() { # path on the host, path on the overlay
  was=$(stat -c '%f %u %g %s %h' -- "$1") || { entry "$1" "$2"; return; }
  is=$(stat -c '%f %u %g %s %h' -- "$2")
  if [ -d "$1" ] && [ -d "$2" ] && [ ! -L "$1" ] && [ ! -L "$2" ]; then
    emptied "$1" "$2"
    is_way "$1" "$2" && return
    [ "${was% * *}" = "${is% * *}" ] && same_attributes "$1" "$2" && return
  elif [ -L "$1" ] && [ -L "$2" ] && [ "$(readlink -- "$1")" = "$(readlink -- "$2")" ]; then
    [ "${was% *}" = "${is% *}" ] && return
  fi
  tell changed "$1"
  tell was "$was"
  tell is "$is"
  same_attributes "$1" "$2" || tell attributes "$(attributes "$2")"
  [ -L "$1" ] && tell had "$(readlink -- "$1")"
  [ -L "$2" ] && tell has "$(readlink -- "$2")"
  if [ -f "$1" ] && [ -f "$2" ] && [ ! -L "$1" ] && [ ! -L "$2" ]; then
    if cmp -s -- "$1" "$2"; then tell same yes; else content "$1" "$1" "$2"; fi
  fi
}
is_way() { # path on the host, path on the overlay: was it made by `open_way`, and is it as it was?
  grep -qxF -e "$(stat -c %f -- "$2") $1" ways
}
emptied() { # folder on the host, on the overlay: one that was made anew hides all that it held
  for below in "$1"/* "$1"/.[!.]*; do
    exists "$below" || continue
    exists "$each/${below##*/}" && continue
    exists "$2/${below##*/}" && return
    deleted "$below"
  done
}
attributes() { # path
  getfattr -d -h -m 'security\.capability|posix_acl|^user\.' --absolute-names -- "$1" 2>/dev/null | grep -v '^#'
}
same_attributes() { # path on the host, path on the overlay
  has getfattr || return 0
  [ "$(attributes "$1")" = "$(attributes "$2")" ]
}
content() { # path, the file before, the file after: how a text that anybody may read has changed
  [ -f "$3" ] && [ ! -L "$3" ] && has diff || return
  for side in "$2" "$3"; do
    [ "$side" = /dev/null ] && continue
    set -- "$1" "$2" "$3" "$(stat -c '%a %s' -- "$side")"
    case ${4% *} in *[4567]) ;; *) tell private yes && return ;; esac
    [ "${4#* }" -le 1048576 ] || { tell large yes && return; }
  done
  tell diff "$(diff -u -L "$1" -L "$1" -- "$2" "$3" | head -c 8000)"
}
"$@"
