# Builds the place of a containment; a part of what its keeper runs in new namespaces of users and
# mounts: every file system is read-only, what is secret is covered, and /dev keeps nothing.
#
# What fails is said with one word, and then nothing runs contained. A keeper may have made
# $place/with: a tree of folders in which something is shown although what lies around it is hidden.
# replan_scratch are folders for temporary files that are shown.
newline='
'
no() {
  echo "no $1"
  exit 1
}
await_ids() { # first it has no ids: its starter gives it some, and by starting anew it becomes root
  read -r pid _ </proc/self/stat
  echo "map $pid"
  read -r go && [ "$go" = go ] || exit
}
make_place() { # set place to a folder of its own; in it is a /dev with those devices
  umask 022
  mount --make-rprivate / || no propagation
  place=
  for each in /dev/shm /mnt /media /tmp; do
    [ -d "$each" ] && mount -t tmpfs -o mode=755,size=64m,nosuid,nodev contained "$each" &&
      place=$each && break
  done
  [ "$place" ] || no tmpfs
  mkdir "$place/dev" "$place/dev/shm" "$place/empty" || no tmpfs
  # What fills this one leaves room for what is told outside.
  mount -t tmpfs -o mode=1777,size=64m,nosuid,nodev contained "$place/dev/shm" || no tmpfs
  # Of all devices, only those that keep nothing. What hides a file cannot be opened.
  table=$place/table
  for each; do
    [ -e "/dev/$each" ] || continue
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
}
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
  if [ -d "$place/with$1" ]; then row "$place/with$1" "$1"; else row "$place/empty" "$1"; fi
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
    for folder in /etc /srv /opt /data /var/www /var/log /usr/local/etc; do scan 8 "$folder"; done
    scan 7 "$HOME"
    for folder in $replan_scratch; do scan 3 "$folder"; done
  } | secret
  # Looks start there, whatever its own name is.
  [ "$replan_folder" ] && cd -- "$replan_folder" 2>/dev/null && scan 8 . | secret | sed "s|^[.]||" |
    while IFS= read -r each; do echo "$replan_folder$each"; done
}
placed() { # print what lies where secrets lie
  IFS=$newline
  for each in $replan_hidden $replan_private; do [ ! -e "$each" ] || echo "$each"; done
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
show_proc() { # what this process keeps as 3 can be written: it gives ids to the one below
  exec 3</proc
  mount --rbind /proc /proc || no proc
}
seal() { # make every file system read-only that is not in the place
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
}
shown_as_writable() { # print each mount in reach that is not read-only; the last at a place counts
  sed '1!G;h;$!d' /proc/self/mountinfo >"$table"
  seen=$newline
  while read -r _ _ _ _ at with _; do
    case $seen in *"$newline$at$newline"*) continue ;; esac
    seen=$seen$at$newline
    case $at:,$with, in
    "$place":* | "$place"/*:* | *:,ro,*nosuid*nodev*) continue ;;
    *\\*) ;; # written another way there than it is called
    *) [ -e "$at" ] || continue ;; # below what is hidden, or where the account may not go
    esac
    echo "$at $with"
  done <"$table"
}
