# Keeps the tree of a workspace by our own git directory: nothing that the agent configures is read.

snapshot() { # attempt's variables: keep the tree under refs/replan/attempts
  require_place
  require_workspace
  take
  tell tree "$kept"
  tell head "$(head_of_agent)"
  [ -z "$whole" ] || { tell_left_out; keep_commits || tell history .git/; }
  finish_index
}
take() { # set kept to the tree, and store it
  for each in "$made"/index.* "$made"/changed.*; do
    [ -e "$each" ] || continue
    line=${each#"$made"/*.}
    [ -d "/proc/${line%%.*}" ] || rm -f "$each"
  done
  export GIT_INDEX_FILE="$made/index.$$" GIT_WORK_TREE="$tree"
  cp -p "$made/index" "$made/index.$$" 2>/dev/null || said=$(git read-tree "$base" 2>&1) ||
    failed git "$said"
  cd "$tree" || failed no_place "$tree"
  unkept=
  keep_files
  name_of git write-tree || failed git "$said"
  kept=$said
  stored=$(git rev-parse -q --verify "refs/replan/attempts/$attempt^{tree}")
  [ "$kept" = "$stored" ] || store
}
store() {
  name_of git commit-tree "$kept" -p "$base" -m "${label:-$attempt}" &&
    said=$(git update-ref "refs/replan/attempts/$attempt" "$said" 2>&1) || failed git "$said"
}
name_of() { # command of git...: set said to the name it prints last, after what it complains of
  said=$("$@" 2>&1) || return
  said=${said##*"$newline"}
}
finish_index() { # keep the index for the next snapshot, and note that the workspace is in use
  mv -f "$made/index.$$" "$made/index" && touch "$place/attempts/$attempt" ||
    failed no_place "$made"
}

keep_files() { # bring the index up to date with the tree; set unkept if something cannot be kept
  list=$made/changed.$$
  : >"$list.old"
  : >"$list.out"
  while :; do
    said=$(list_others -m -d 2>&1 >"$list") ||
      said=$(plainly list_others -m -d 2>&1 >"$list") || failed git "$said"
    [ -s "$list" ] || break
    tr '\0' '\n' <"$list" | grep -q '/$' || break
    # What is left then has no file in it.
    cmp -s "$list" "$list.old" && { filter_list names_of files; break; }
    cp "$list" "$list.old"
    enter_nested
  done
  set_large_aside
  [ ! -s "$list" ] || put_all || put_each
  [ ! -s "$list.out" ] || { unkept=1; leave_as_begun; }
  rm -f "$list" "$list.old"
}
list_others() { # words...: the names of files that the index does not hold, and those of the words
  git ls-files -z -o --exclude-standard --exclude-from="$made/exclude" "$@"
}
names_of() { # files or folders: print those of the names that come in
  xargs -0 -r sh -c '
    for each; do
      case $0$each in files*/) ;; files* | folders*/) printf "%s\0" "$each" ;; esac
    done' "$1"
}
filter_list() { # words...: keep the names that a command prints
  "$@" <"$list" >"$list.new"
  mv -f "$list.new" "$list"
}
enter_nested() { # git takes a repository in the tree for one name: have it see the files instead
  case $format in
  sha256) empty=473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813 ;;
  *) empty=e69de29bb2d1d6434b8b29ae775ad8c2e48c5391 ;;
  esac
  names_of folders <"$list" | tee -a "$made/nested" | empty=$empty xargs -0 sh -c '
    for each; do printf "100644 %s\t%s.replan\0" "$empty" "$each"; done' sh |
    git update-index -z --index-info || failed git update-index
}
set_large_aside() { # leave out files that are too large to be kept again and again
  [ -s "$list" ] && [ "$largest" ] || return 0
  large=$(xargs -0 sh -c 'for each; do printf "./%s\0" "$each"; done' sh <"$list" |
    xargs -0 sh -c 'find "$@" -prune -type f -size +"$0" 2>/dev/null' "$largest")
  [ "$large" ] || return 0
  large=$newline$large$newline out=$list.out
  export large newline out
  filter_list xargs -0 sh -c '
    for each; do
      case $large in
      *"$newline./$each$newline"*) printf "%s\0" "$each" >>"$out" ;;
      *) printf "%s\0" "$each" ;;
      esac
    done' sh
}
leave_as_begun() { # of what is left out, earlier snapshots may have kept a part: forget it
  { read -r begun <"$made/begun"; } 2>/dev/null || begun=$base
  {
    xargs -0 sh -c 'for each; do printf "0 %s\t%s\0" "$0" "$each"; done' "$begun" <"$list.out"
    GIT_LITERAL_PATHSPECS=1 xargs -0 git ls-tree -z --full-tree "$begun" -- <"$list.out" |
      grep -z -v '^040000 '
  } | git update-index -z --index-info || failed git update-index
}
put_all() { # fail if git could not take all of them; of a name that it never takes, it only says so
  said=$(git update-index -z --add --remove --replace --stdin 2>&1 <"$list") && [ -z "$said" ]
}
put_each() { # find the names that git cannot take; keep the bytes as they are, or leave them out
  is_full && fail disk_full "$place"
  out=$list.out top=$(pwd -P)
  export out top
  xargs -0 -n 200 sh -c '
    put() {
      said=$(printf "%s\0" "$@" | git update-index -z --add --remove --replace --stdin 2>&1) &&
        [ -z "$said" ]
    }
    is_behind_link() {
      case $1 in
      */*) [ "$(cd "./${1%/*}" 2>/dev/null && pwd -P)" != "$top/${1%/*}" ] ;;
      *) return 1 ;;
      esac
    }
    drop() { printf "%s\0" "$1" | git update-index -z --force-remove --stdin; }
    keep() {
      if is_behind_link "$1"; then drop "$1"; else put_bytes "$1"; fi
    }
    put_bytes() {
      [ -f "$1" ] && [ ! -L "$1" ] && oid=$(git hash-object -w --no-filters -- "$1" 2>/dev/null) ||
        return
      mode=100644
      [ ! -x "$1" ] || mode=100755
      said=$(printf "%s %s\t%s\0" "$mode" "$oid" "$1" | git update-index -z --index-info 2>&1) &&
        [ -z "$said" ]
    }
    put "$@" || for each; do put "$each" || keep "$each" || printf "%s\0" "$each" >>"$out"; done
  ' sh <"$list"
}

tell_left_out() { # the names of all that the tree does not hold, and of what it holds as files
  [ ! -s "$list.out" ] || tell_names large_or_unreadable <"$list.out"
  list_others --directory | names_of folders | tell_names empty
  list_others -i --directory | tell_names ignored
  [ ! -s "$made/nested" ] || sort -z -u "$made/nested" | tell_names nested
  rm -f "$list.out"
}
tell_names() { # field: tell the names that come in, as far as there is room
  whole_names 60000 | xargs -0 -r sh -c 'for each; do printf "%s=%s\0" "$0" "$each"; done' "$1"
}
head_of_agent() { # the commit that the agent has checked out, read without its git directory in use
  read_own HEAD 1000
  case $found in
  'ref: '*..*) return 0 ;;
  'ref: refs/'*)
    ref=${found%%"$newline"*}
    ref=${ref#ref: }
    read_own "$ref" 1000
    [ "$found" ] || {
      read_own packed-refs 5000000
      found=$(printf '%s\n' "$found" | grep -F " $ref" | head -n 1)
    }
    ;;
  esac
  echo "${found%%[!0-9a-f]*}"
}
read_own() { # name bytes: set found to the beginning of a file of the agent's git directory
  found=
  # What is not a plain file may never end.
  [ -f "$tree/.git/$1" ] && [ ! -L "$tree/.git/$1" ] || return 0
  { found=$(head -c "$2" "$tree/.git/$1"); } 2>/dev/null
}
keep_commits() { # keep the commits that the agent has made; of its git directory, objects are read
  agents=$(head_of_agent)
  [ "$agents" ] && [ "$agents" != "$base" ] || return 0
  [ "$agents" != "$(git rev-parse -q --verify "refs/replan/commits/$attempt")" ] || return 0
  objects=$tree/.git/objects
  # Commits of huge files are not copied; nor are those of a directory that lies elsewhere.
  [ ! -L "$tree/.git" ] && [ ! -L "$objects" ] && [ -d "$objects" ] || return
  [ -z "$largest" ] || [ "$(size_of "$objects")" -le $((largest * 5)) ] || return
  (
    GIT_ALTERNATE_OBJECT_DIRECTORIES=$(quote_path "$objects")
    export GIT_ALTERNATE_OBJECT_DIRECTORIES
    printf '%s\n^%s\n' "$agents" "$base" |
      git pack-objects --quiet --revs "$GIT_DIR/objects/pack/pack" >/dev/null
  ) 2>/dev/null && git update-ref "refs/replan/commits/$attempt" "$agents" 2>/dev/null
}

restore() { # tree: make the files those of the tree; what was there before is kept first
  require_place
  require_workspace
  git cat-file -e "$1^{tree}" 2>/dev/null || fail no_tree "$1"
  take
  tell before "$kept"
  write_files "$1" || failed git "$said"
  kept=$1
  store
  tell tree "$kept"
  finish_index
}
