# What the keeper of a containment of looks runs: sh -c, in new namespaces of users and mounts.
# What stands in ids.sh and sealing.sh comes before it.
if [ -z "$replan_mapped" ]; then
  await_ids
  echo 1000 >/proc/self/oom_score_adj
  replan_mapped=1 exec /bin/sh -c "$replan_stage" sh
fi
replan_scratch='/tmp /var/tmp'
make_place null zero full random urandom
unlisted() { # print places that no rule lists as readable: anything may lie there
  for each in /var/lib/* /var/spool/* /var/mail /var/backups /mnt/* /media/* /backup /backups; do
    case $each in
    "$place" | "$place"/* | /var/spool/cron) ;;
    /var/lib/dpkg | /var/lib/apt | /var/lib/systemd | /var/lib/rpm | /var/lib/pacman) ;;
    /var/lib/gems | /var/lib/ca-certificates | /var/lib/alternatives | /var/lib/dbus) ;;
    /var/lib/logrotate) ;;
    *) [ ! -e "$each" ] || echo "$each" ;;
    esac
  done
}
replan_private=$(unlisted)
# A file may vanish between the two.
cover || cover || cover || no secrets
exec 4<&0
show_proc
seal
# From here on no path may lead to this place: it may lie below /dev.
cd -- "$place" || no tmpfs
mount --rbind dev /dev || no devices

uid=$replan_uid gid=$replan_gid
unset replan_private replan_sockets replan_hidden replan_names replan_public replan_records replan_folder
unset replan_uid replan_gid replan_stage replan_mapped

# Looks write to files that no path leads to, and lose their processes with the first one.
ulimit -d 2097152
# Shells name the number of processes differently.
{ ulimit -u 2048 || ulimit -p 2048; } 2>/dev/null
exec 6>&1
# shellcheck disable=SC2016 # the first process expands it
first_process='
  read -r pid _ </proc/self/stat
  echo "$pid"
  exec >/dev/null
  read -r go || exit
  looks=$replan_looks setpriv=$replan_setpriv
  unset replan_looks replan_setpriv
  # Only now it is root, where the account is, and may keep reading what belongs to others.
  exec $setpriv /bin/sh -c "$looks" "$pid"
'
# shellcheck disable=SC2016 # the first process expands it
run_looks='
  # No look finds what another one has written, or a scratch that is full.
  empty_scratch() {
    for each in /dev/shm/* /dev/shm/.[!.]* /dev/shm/..?*; do
      [ -e "$each" ] || [ -L "$each" ] || continue
      rm -rf -- "$each" || { chmod -R u+rwx "$each"; rm -rf -- "$each"; }
    done
  } 2>/dev/null
  pid=$0
  newline="
"
  echo "ready $pid" >&6
  while read -r attempt && read -r folder; do
    text=
    while IFS= read -r line && [ "$line" != "$replan_end" ]; do text=$text$newline$line; done
    empty_scratch
    (
      exec </dev/null >&5 2>&7 5>&- 6>&- 7>&-
      cd -- "$folder" || exit 126
      unset replan_end
      export REPLAN_ATTEMPT="$attempt" TMPDIR=/dev/shm XDG_CACHE_HOME=/dev/shm
      exec /bin/sh -c "${text#?}" sh
    )
    code=$?
    left=x
    read -r left </proc/$pid/task/$pid/children
    [ -z "$left" ] || kill -KILL -1
    echo "e $code" >&6
  done
'
# Nothing below gains rights by starting a program, whatever that is on its file system.
replan_setpriv=
setpriv --no-new-privs true 2>/dev/null && replan_setpriv='setpriv --no-new-privs'
export replan_setpriv replan_looks="$run_looks"
while :; do
  : >out && : >err || no tmpfs
  {
    unshare -U -p -f /bin/sh -c "$first_process" sh \
      3<&- 5>>out 7>>err 2>/dev/null <&4 4<&-
    # Killed, unless all has ended. Some versions of unshare say 137 then, and some say 1.
    [ "$?" = 0 ] || echo again
  } | {
    read -r pid && give_ids "$pid" /proc/self/fd/3 "$uid 0 1" "$gid 0 1" || exit
    echo mapped >&6
    read -r more && [ "$more" = again ]
  } || no ids
done
