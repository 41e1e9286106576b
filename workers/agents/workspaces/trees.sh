# Compares trees that are kept.

require_tree() { git cat-file -e "$1^{tree}" 2>/dev/null || fail no_tree "$1"; }
compare() { # from to: tell the files that differ, as far as there is room
  require_place
  require_tree "$1"
  require_tree "$2"
  count=$(differ "$1" "$2" --name-status | tr -cd '\0' | wc -c)
  tell count "$((count / 2))"
  differ "$1" "$2" --name-status | whole_names "$limit" | xargs -0 -r -n 200 sh -c '
    while [ $# -ge 2 ]; do printf "file=%s%s\0" "$1" "$2"; shift 2; done' sh
}
patch() { # from to: print the patch, at most as many bytes as the limit says, and one more
  require_place
  require_tree "$1"
  require_tree "$2"
  differ "$1" "$2" -p --binary --full-index --src-prefix=a/ --dst-prefix=b/ | head -c $((limit + 1))
}
differ() { # from to words...
  from=$1 to=$2
  shift 2
  case $1 in --name-status) set -- -z "$@" ;; esac
  git diff-tree -r --no-renames --no-color --no-ext-diff --no-textconv "$@" "$from" "$to" --
}
links() { # tree: tell the symbolic links in it
  require_place
  require_tree "$1"
  tell_links "$1"
}
