# Says what the workspaces take up, and removes those that nobody needs.

measure() { # tell the size of every part, in kB
  require_place
  tell objects "$(size_of "$GIT_DIR")"
  for each in "$place"/attempts/*; do
    [ -e "$each" ] || continue
    attempt=${each##*/}
    find_workspace && tell attempt "$(size_of "$made") $attempt"
  done
  for each in "$place"/bases/*; do
    [ -e "$each" ] && read -r made <"$each" && [ -d "$place/work/$made" ] || continue
    tell template "$(size_of "$place/work/$made") ${each##*/}"
  done
  tell total "$(size_of "$place")"
  set -- $(df -Pk "$place" | tail -n 1)
  tell free "$4"
}
collect_beside() { # once an hour, while the caller goes on: remove what is beyond the cap
  [ "$cap" ] && [ -z "$(find "$place/.sized" -mmin -60 2>/dev/null)" ] || return 0
  : >"$place/.sized"
  (collect "$attempt") </dev/null >/dev/null 2>&1 &
}
collect() { # attempt...: beyond the cap, remove what is kept, the oldest first; not these attempts
  unset GIT_WORK_TREE GIT_INDEX_FILE
  require_place
  # Beside a prepare that has ended, this shell has a number that no process has.
  [ "$me" ] || identify
  sweep_leftovers
  spared=" $* "
  total=$(size_of "$place")
  # The templates first: a setup command makes them again. One that is young may be being copied.
  cd "$place/bases" || failed no_place "$place"
  for each in $(find . -type f -mmin +60 -exec ls -tr {} +); do
    [ "$total" -gt "$cap" ] || break
    read -r made <"$each" || continue
    rm -f "$each"
    [ "$made" = rerun ] || discard "$place/work/$made"
  done
  cd "$place/attempts" || failed no_place "$place"
  for attempt in $(find . -type f ${idle:+-mmin "+$idle"} -exec ls -tr {} +); do
    cd / && [ "$total" -gt "$cap" ] || break
    attempt=${attempt#./}
    case $spared in *" $attempt "*) continue ;; esac
    find_workspace || { rm -f "$place/attempts/$attempt"; continue; }
    is_used && { tell used "$attempt"; continue; }
    take
    mv -f "$made/index.$$" "$made/index"
    stored=$(git rev-parse -q --verify "refs/replan/attempts/$attempt^{tree}")
    [ "$kept" = "$stored" ] && [ -z "$unkept" ] && keep_commits || { tell unkept "$attempt"; continue; }
    # Somebody may have come back to it meanwhile.
    [ -z "$idle" ] || [ "$(find "$place/attempts/$attempt" -mmin "+$idle")" ] || continue
    rm -f "$place/attempts/$attempt"
    cd /
    discard "$made"
    tell removed "$attempt"
  done
  tidy
  tell total "$(size_of "$place")"
}
drop() { # attempt...: remove their workspaces, whatever they hold
  require_place
  for attempt; do
    find_workspace || continue
    rm -f "$place/attempts/$attempt"
    remove "$made"
  done
}
tell_attempts() { # text: tell the attempts with a workspace whose names begin with it
  for each in "$place/attempts/$1"*; do
    [ ! -e "$each" ] || tell attempt "${each##*/}"
  done
}
is_used() { # check whether a process has its folder there
  set -- "$(cd "$made" && pwd -P)"
  ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -qF -- "-> $1/"
}
discard() { # folder: remove it, and count down
  total=$((total - $(size_of "$1")))
  remove "$1"
}
tidy() { # pack what is kept, and drop what no ref has held for a day
  cd / && unset GIT_WORK_TREE GIT_INDEX_FILE
  [ "$total" -gt "$cap" ] || return 0
  # The git directories of agents borrow our objects: what their commits need stays.
  for attempt in $(ls "$place/attempts"); do
    find_workspace && { keep_commits || return 0; }
  done
  git repack -d -l -q 2>/dev/null
  git prune --expire=1.day.ago 2>/dev/null
  return 0
}
