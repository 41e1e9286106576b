# Brings the worktrees of a session to its head: its main one, and those whose work is accepted.
# Needs source.sh, snapshot.sh, collect.sh and prepare.sh.

sync() { # head main pattern...: the lines of idle are NAME TREE, the tree being what was delivered
  goal=$1 main=$2
  shift 2
  open_place
  require_place
  wanted=$(git rev-parse -q --verify "$goal^{tree}") || fail no_base "$goal"
  identify
  sweep_leftovers
  apart sync_main "$@"
  printf '%s\n' "$idle" | while read -r attempt known; do
    [ "$attempt" ] && find_workspace || continue
    tell worktree "$attempt"
    tell path "$tree"
    apart bring_to_head "$known"
  done
}
apart() { # words...: do it in a process of its own; what it refuses is told, and the others go on
  ("$@")
  set -- "$?"
  [ "$1" = 0 ] || [ "$1" = 3 ] || exit "$1"
}
sync_main() { # pattern...: make the main worktree, or bring it to the head
  attempt=$main
  tell worktree "$attempt"
  find_workspace && { tell path "$tree"; bring_to_head ''; return; }
  rm -f "$place/attempts/$attempt"
  base=$goal setup= from=
  said=$(git update-ref "refs/replan/bases/$goal" "$goal" 2>&1) || failed git "$said"
  build "$@"
  publish "$place/attempts/$attempt" || remove "$made"
  tell path "$tree"
  tell outcome made
}
bring_to_head() { # tree: unless it is in use, or has changes that are neither of the base nor in it
  is_used && { tell outcome in_use; return; }
  [ -d "$tree/.git" ] && [ ! -L "$tree/.git" ] || { tell outcome unkept; return; }
  take
  [ -z "$unkept" ] || { tell outcome unkept; return; }
  read -r begun <"$made/begun"
  under_way=
  [ ! -e "$made/syncing" ] || under_way=1
  if [ -z "$under_way" ]; then
    case $kept in
    "$wanted" | "$1" | "$begun" | "$(git rev-parse -q --verify "$base^{tree}")") ;;
    *) tell outcome changed; return ;;
    esac
    [ "$base" != "$goal" ] || [ "$kept" != "$wanted" ] || { finish_index; tell outcome same; return; }
    keep_commits || { tell outcome unkept; return; }
  fi
  # Whoever was ended in the middle left a part of each. That is kept as well.
  said=$(git update-ref "refs/replan/before/$attempt" \
    "$(git rev-parse -q --verify "refs/replan/attempts/$attempt")" 2>&1) || failed git "$said"
  echo "$goal" >"$made/syncing" || failed no_place "$made"
  write_files "$goal" || failed git "$said"
  base=$goal kept=$wanted
  put_file base "$goal"
  put_file begun "$wanted"
  store
  agents=$tree/.git
  rm -f "$agents/HEAD.lock" "$agents/index" && cp -p "$made/index.$$" "$agents/index" &&
    echo "$goal" >"$made/head.$$" && mv -f "$made/head.$$" "$agents/HEAD" || failed no_place "$agents"
  finish_index
  rm -f "$made/syncing"
  tell outcome updated
}
put_file() { # name line: write a file of the workspace, whole or not at all
  echo "$2" >"$made/$1.$$" && mv -f "$made/$1.$$" "$made/$1" || failed no_place "$made"
}
