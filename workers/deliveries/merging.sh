# Puts deliveries on the line of a session, one commit after another.

make_commit() { # tree at title delivery parent...: set made_commit
  tree=$1 at="@$2 +0000" title=$3 delivery=$4
  shift 4
  for each; do
    shift
    set -- "$@" -p "$each"
  done
  made_commit=$(GIT_AUTHOR_DATE=$at GIT_COMMITTER_DATE=$at git commit-tree "$tree" "$@" \
    -m "$title" -m "Delivery: sha256:$delivery" 2>said)
}
prepare_refs() {
  mkdir deliveries conflicts sessions bases || failed no_place "$made"
}
put_ref() { # kind name oid: have it ready, if it is not there; put_refs moves it to its place
  kept=
  { read -r kept <"$GIT_DIR/refs/replan/$1/$2"; } 2>/dev/null
  [ "$kept" = "$3" ] || echo "$3" >"$1/$2" || failed no_place "$made"
}
put_refs() {
  for kind in deliveries conflicts sessions bases; do
    for each in "$kind"/*; do
      [ -e "$each" ] || break
      each=$GIT_DIR/refs/replan/$kind
      [ -d "$each" ] || mkdir -p "$each" && mv -f "$kind"/* "$each" || failed no_place "$each"
      break
    done
  done
}
merge() { # head session (delivery base tree at title)...: tell the commit and tree of each
  open_line
  prepare_refs
  head=$1 session=$2
  shift 2
  [ -z "$session" ] || advance "$session" "$head"
  while [ $# -gt 0 ]; do
    before=$head
    merge_one "$@"
    shift 5
  done
  put_refs
  tell before "$before"
  write_changes "$before" "$head"
  look_around "$before" "$head"
  give changes sizes contents found beside
}
merge_one() { # delivery base tree at title
  make_commit "$3" "$4" "$5" "$1" "$2" || explain "$2" "$3"
  own=$made_commit
  put_ref deliveries "$1" "$own"
  if [ "$2" = "$head" ]; then
    head=$own merged=$3
  else
    shared=$(git merge-base "$head" "$own" 2>said)
    case $shared in
    "$own") merged=$(git rev-parse "$head^{tree}") ;; # it is there already
    "$2") merge_trees "$@" ;;
    *)
      require_commit "$head"
      fail not_on_line "$1"
      ;;
    esac
  fi
  put_ref bases "$head" "$head"
  tell commit "$head"
  tell tree "$merged"
}
merge_trees() { # delivery base tree at title: set head and merged
  merged=$(merge_commits "$head" "$own" 2>said)
  case $? in
  0) ;;
  1)
    # The sides of a conflict get names that say which is which.
    name_sides && as_named merge_commits session delivery -z >merge
    conflict "$1"
    ;;
  129) merge_files "$2" || conflict "$1" ;;
  *) failed git "$(cat said)" ;;
  esac
  make_commit "$merged" "$4" "Accept $5" "$1" "$head" "$own" || failed git "$(cat said)"
  head=$made_commit
}
merge_commits() { # one another words...: print the merged tree, and the names of files that conflict
  one=$1 another=$2
  shift 2
  git -c merge.directoryRenames=false merge-tree --write-tree --name-only --no-messages "$@" \
    "$one" "$another"
}
name_sides() { # make a git directory with our objects, in which the sides have names
  mkdir -p names/refs/heads names/objects && printf %s "$meant" >names/config &&
    echo 'ref: refs/heads/none' >names/HEAD && echo "$head" >names/refs/heads/session &&
    echo "$own" >names/refs/heads/delivery || failed no_place "$made"
  [ ! -s "$GIT_DIR/shallow" ] || cp "$GIT_DIR/shallow" names || failed no_place "$made"
}
as_named() { # words...: call a function in that git directory
  (
    export GIT_OBJECT_DIRECTORY="$GIT_DIR/objects"
    GIT_DIR=$made/names
    "$@"
  )
}
# Before 2.38, git cannot merge without a work tree. What follows can, file by file: a file that
# one side has moved and the other has changed is a conflict then.
merge_files() { # base: set merged; write it and the names of files that conflict, if any do
  rm -f conflicting
  said=$(git read-tree -i -m --aggressive "$1" "$head" "$own" 2>&1) || failed git "$said"
  git diff-index --cached --no-renames --diff-filter=U --name-only -z "$head" -- |
    xargs -0 -r -n 1 sh -c '
    m1= m2= m3= o1= o2= o3= conflict=
    while read -r mode oid stage _; do
      case $stage in
      1) m1=$mode o1=$oid ;;
      2) m2=$mode o2=$oid ;;
      3) m3=$mode o3=$oid ;;
      esac
    done <<END
$(git ls-files -u -- "$1")
END
    blob() { [ -z "$1" ] || git cat-file blob "$1"; }
    merge() {
      case $m1$m2$m3 in *120000* | *160000*) return 1 ;; esac
      [ "$o2" ] && [ "$o3" ] || return
      mode=$m2
      [ "$m1" != "$m2" ] || mode=$m3
      blob "$o1" >base && blob "$o2" >ours && blob "$o3" >theirs || exit 255
      git merge-file -q -L session -L base -L delivery ours base theirs 2>/dev/null
      case $? in
      0) [ "$o1" ] || conflict=1 ;;
      25[0-5] | 12[89]) return 1 ;;
      *) conflict=1 ;;
      esac
      # Both sides have changed its mode, each in its own way.
      [ "$m2" = "$m3" ] || [ "$m1" = "$m2" ] || [ "$m1" = "$m3" ] || conflict=1
      oid=$(git hash-object -w --no-filters ours) || exit 255
    }
    merge || conflict=1 mode=${m2:-$m3} oid=${o2:-$o3}
    [ -z "$conflict" ] || printf "%s\0" "$1" >>conflicting
    printf "%s %s\t%s\0" "$mode" "$oid" "$1" | git update-index -z --index-info 2>/dev/null ||
      printf "%s\0" "$1" | git update-index -z --force-remove --stdin || exit 255
  ' sh || failed git read-tree
  merged=$(git write-tree) || failed git write-tree
  [ -s conflicting ] || return 0
  { printf '%s\0' "$merged" && cat conflicting; } >merge
  return 1
}
conflict() { # delivery: tell its conflict, and end
  merged=$(head -c ${#head} merge)
  put_ref conflicts "$1" "$merged"
  put_refs
  tell conflict "$1"
  tell tree "$merged"
  tail -c "+$((${#head} + 2))" merge | whole_names 60000 |
    xargs -0 -r sh -c 'for each; do printf "conflicting=%s\0" "$each"; done' sh
  exit 0
}
keep() { # session head
  open_line
  require_commit "$2"
  prepare_refs
  advance "$1" "$2"
  put_refs
}
advance() { # session head: keep it, unless what is kept holds it already
  kept=
  { read -r kept <"$GIT_DIR/refs/replan/sessions/$1"; } 2>/dev/null
  [ "$kept" != "$2" ] || return 0
  [ "$kept" ] && git merge-base --is-ancestor "$2" "$kept" 2>/dev/null && return
  put_ref sessions "$1" "$2"
  put_ref bases "$2" "$2"
}
