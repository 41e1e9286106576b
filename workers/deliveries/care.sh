# Looks at one workspace, keeps what it holds, or removes it. Needs snapshot.sh and collect.sh.

care() { # look, keep or remove: tell what there is, then do it
  require_place
  tell git_dir "$GIT_DIR"
  find_workspace || return 0
  tell path "$tree"
  tell base "$base"
  ! is_used || tell used yes
  weigh
  case $1 in
  look)
    rm -f "$made/index.$$"
    return
    ;;
  esac
  [ "$kept" = "$stored" ] || store
  keep_commits || { unkept=1 && tell unkept .git/; }
  finish_index
  [ -z "$unkept" ] || return 0
  tell kept yes
  [ "$1" = remove ] || return 0
  # Somebody may have come to it meanwhile.
  cd /
  ! is_used || return 0
  rm -f "$place/attempts/$attempt"
  remove "$made"
  tell removed yes
}
weigh() { # set kept to the tree of the files, and tell whether all of it is kept already
  export GIT_INDEX_FILE="$made/index.$$" GIT_WORK_TREE="$tree"
  cp -p "$made/index" "$made/index.$$" 2>/dev/null || said=$(git read-tree "$base" 2>&1) ||
    failed git "$said"
  cd "$tree" || failed no_place "$tree"
  unkept=
  keep_files
  name_of git write-tree || failed git "$said"
  kept=$said
  stored=$(git rev-parse -q --verify "refs/replan/attempts/$attempt^{tree}")
  of_base=$(git rev-parse -q --verify "$base^{tree}")
  read -r begun <"$made/begun"
  tell tree "$kept"
  [ "$kept" = "$of_base" ] || tell changed yes
  [ -z "$unkept" ] || tell_names unkept <"$list.out"
  rm -f "$list.out"
  case $kept in
  "$stored" | "$of_base" | "$begun") [ "$unkept" ] || ! has_kept_commits || tell kept yes ;;
  esac
}
has_kept_commits() { # check that the commits that its agent has checked out are kept
  agents=$(head_of_agent)
  case $agents in
  '' | "$base" | "$(git rev-parse -q --verify "refs/replan/commits/$attempt")") ;;
  *) return 1 ;;
  esac
}
