# What the keeper of a containment runs: sh -c, in new namespaces of users and mounts.
#
# First it has no ids: its runner gives it some, and by starting anew it becomes the root of its
# namespaces. What fails is said with one word, and then no look runs contained.
no() {
  echo "no $1"
  exit 1
}
if [ -z "$replan_mapped" ]; then
  read -r pid _ </proc/self/stat
  echo "map $pid"
  read -r go && [ "$go" = go ] || exit
  echo 1000 >/proc/self/oom_score_adj
  replan_mapped=1 exec /bin/sh -c "$replan_stage" sh
fi
umask 022
newline='
'
mount --make-rprivate / || no propagation
place=
for each in /dev/shm /mnt /media /tmp; do
  [ -d "$each" ] && mount -t tmpfs -o mode=755,size=64m,nosuid,nodev contained "$each" &&
    place=$each && break
done
[ "$place" ] || no tmpfs
mkdir "$place/dev" "$place/dev/shm" "$place/empty" && chmod 1777 "$place/dev/shm" || no tmpfs

# Of all devices, only those that keep nothing. What hides a file cannot be opened.
table=$place/table
for each in null zero full random urandom; do
  : >"$place/dev/$each"
  echo "/dev/$each $place/dev/$each none bind 0 0"
done >"$table"
: >"$place/none"
echo "/dev/null $place/none none bind 0 0" >>"$table"
echo "$place/empty $place/empty none bind 0 0" >>"$table"
mount -a -T "$table" || no devices
for each in none empty; do
  mount -o remount,bind,ro,nosuid,nodev,noexec "$place/$each" || no devices
done
ln -s fd/0 "$place/dev/stdin" && ln -s fd/1 "$place/dev/stdout" &&
  ln -s fd/2 "$place/dev/stderr" && ln -s /proc/self/fd "$place/dev/fd" || no devices

row() { # what where: one row of the table
  case $2 in
  *[[:space:]\\#]*) set -- "$1" "$(printf '%s' "$2" | sed 's/\\/\\134/g; s/ /\\040/g; s/	/\\011/g; s/#/\\043/g')" ;;
  esac
  echo "$1 $2 none bind 0 0"
}
hide() { # path: cover it, unless looks or programs start below it
  [ ! -L "$1" ] || set -- "$(readlink -f "$1")"
  if [ ! -d "$1" ]; then
    [ ! -e "$1" ] || row "$place/none" "$1"
    return
  fi
  case $replan_folder/:$PATH/ in "$1"/* | *:"$1"/*) return ;; esac
  row "$place/empty" "$1"
}
scan() { # depth folder: print what lies below it
  [ ! -d "$2" ] || find "$2" -xdev -maxdepth "$1" \
    \( -name node_modules -o -name '*-packages' -o -name .git -o -name .cache -o -name .venv \
    -o -name .replan -o -path '*/.*/*/*' \) -prune -o -print 2>/dev/null
}
secret() { # of the paths that are read, print those that name a secret
  LC_ALL=C grep -i -E -e "$replan_names" | LC_ALL=C grep -v -i -E -e "${replan_public:-^$}"
}
named() { # print what has the name of a secret
  [ "$replan_names" ] || return
  {
    for folder in /etc /srv /opt /var/www /usr/local/etc; do scan 6 "$folder"; done
    for folder in "$HOME" /tmp /var/tmp; do scan 3 "$folder"; done
  } | secret
  # Looks start there, whatever its own name is.
  cd -- "$replan_folder" 2>/dev/null && scan 4 . | secret | sed "s|^[.]||" |
    while IFS= read -r each; do echo "$replan_folder$each"; done
}
placed() { # print what lies where secrets lie
  IFS=$newline
  for each in $replan_hidden; do [ ! -e "$each" ] || echo "$each"; done
  for each in /home/* /root; do [ "$each" = "$HOME" ] || [ ! -e "$each" ] || echo "$each"; done
  [ -z "$replan_records" ] || echo "$replan_records"
  [ ! -e "$HOME/.replan" ] || echo "$HOME/.replan"
  for each in $replan_sockets $(find /run -type s 2>/dev/null); do
    [ ! -S "$each" ] || echo "$each"
  done
  unset IFS
}
cover() { # hide all that has to be hidden
  covered=
  {
    placed
    named
  } | tr / '\001' | sort -u | tr '\001' / | while IFS= read -r each; do
    # What lies in a folder that is hidden is hidden with it.
    [ -z "$covered" ] || case $each in "$covered"/*) continue ;; esac
    hide "$each"
    [ ! -d "$each" ] || case $replan_folder/:$PATH/ in
    "$each"/* | *:"$each"/*) ;;
    *) covered=$each ;;
    esac
  done >"$place/hidden"
  [ "$(grep -c . "$place/hidden")" -le 1000 ] || no secrets
  [ ! -s "$place/hidden" ] || mount -a -T "$place/hidden" || return
  # Not every mount reads tables as it should.
  while read -r what where _; do
    case $where in *\\*) continue ;; esac
    [ ! -e "$where" ] || [ "$where" -ef "$what" ] || mount --bind "$what" "$where" || return
  done <"$place/hidden"
}
# A file may vanish between the two.
cover || cover || cover || no secrets

# The view of /proc that this process keeps can be written: it gives ids to the one below.
exec 3</proc 4<&0
mount --rbind /proc /proc || no proc
root=
while read -r _ _ _ _ at with _; do
  case ,$with, in
  ,ro,nosuid,nodev,*) continue ;;
  *,ro,*) ;;
  *) with=ro${with#rw} ;;
  esac
  case $at in
  "$place" | "$place"/*) continue ;;
  /) root=$with ;;
  *) echo "none $at none remount,bind,$with,nosuid,nodev 0 0" ;;
  esac
done </proc/self/mountinfo >"$table"
mount -a -T "$table"
mount -o "remount,bind,$root,nosuid,nodev" /
shown_as_writable() { # print each mount that is not read-only; the last at one place counts
  sed '1!G;h;$!d' /proc/self/mountinfo >"$table"
  seen=$newline
  while read -r _ _ _ _ at with _; do
    case $seen in *"$newline$at$newline"*) continue ;; esac
    seen=$seen$at$newline
    case $at:,$with, in
    "$place":* | "$place"/*:* | *:,ro,*nosuid*nodev*) ;;
    *) echo "$at $with" ;;
    esac
  done <"$table"
}
shown_as_writable >"$place/writable"
while read -r at with; do
  case ,$with, in *,ro,*) ;; *) with=ro${with#rw} ;; esac
  mount -o "remount,bind,$with,nosuid,nodev" "$at"
done <"$place/writable"
writable=$(shown_as_writable)
[ -z "$writable" ] || {
  echo "$writable" >&2
  no readonly
}
mount --rbind "$place/dev" /dev || no devices

uid=$replan_uid gid=$replan_gid
unset replan_sockets replan_hidden replan_names replan_public replan_records replan_folder
unset replan_uid replan_gid replan_stage replan_mapped

# Looks write to files that no path leads to, and lose their processes with the first one.
ulimit -d 2097152
ulimit -u 2048
exec 6>&1
# shellcheck disable=SC2016 # the first process expands it
first_process='
  read -r pid _ </proc/self/stat
  echo "$pid"
  exec >/dev/null
  newline="
"
  read -r go && echo "ready $pid" >&6
  while read -r attempt && read -r folder; do
    text=
    while IFS= read -r line && [ "$line" != "$replan_end" ]; do text=$text$newline$line; done
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
while :; do
  find "$place/dev/shm" -mindepth 1 -delete
  : >"$place/out" && : >"$place/err" || no tmpfs
  {
    unshare -U -p -f /bin/sh -c "$first_process" sh \
      3<&- 5>>"$place/out" 7>>"$place/err" 2>/dev/null <&4 4<&-
    [ "$?" != 137 ] || echo again
  } | {
    cd /proc/self/fd/3 && read -r pid || exit
    if [ "$uid" = 0 ]; then
      for file in uid_map gid_map; do
        all=
        while read -r inside _ many; do all="$all$inside $inside $many$newline"; done <self/$file
        printf %s "$all" >"$pid/$file" || exit
      done
    else
      echo "$uid 0 1" >"$pid/uid_map" && echo "$gid 0 1" >"$pid/gid_map" || exit
    fi
    echo mapped >&6
    read -r more && [ "$more" = again ]
  } || no ids
done
