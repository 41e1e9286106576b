# Looks at the branch of a session on its remote, and publishes to it, by our own git directory.
# Needs source.sh; remote is a path or a URL, ref the full name of the branch there.

look() { # head: tell what the branch is, and the commits that only one side has
  open_remote "$1"
  find_branch
  [ "$found" ] || return 0
  git cat-file -e "$found^{tree}" 2>/dev/null || bring_branch
  tell found "$found"
  [ "$found" != "$1" ] || return 0
  keep_found
  tell ahead "$(git rev-list --count "$found..$1")"
  tell behind "$(git rev-list --count "$1..$found")"
  tell base "$(git merge-base "$1" "$found")"
  tell_commits ours "$found..$1"
  tell_commits theirs "$1..$found"
}
see() { # head: tell the commit and the tree of the branch, as the remote has it now
  open_remote "$1"
  find_branch
  [ "$found" ] || return 0
  tell found "$found"
  tell tree "$(git rev-parse -q --verify "$found^{tree}")"
}
push() { # head commit: publish the head if the branch is that commit, or is not there if it is empty
  open_remote "$1"
  [ -z "$2" ] || git merge-base --is-ancestor "$2" "$1" || fail not_ahead "$2"
  said=$(
    talk push --porcelain --atomic --no-verify --no-signed --no-follow-tags --no-progress \
      --recurse-submodules=no "--force-with-lease=$ref:$2" -- "$remote" "$1:$ref" 2>&1
  )
  tell exit_code "$?"
  tell said "$(printf '%s' "$said" | tail -c 8000 | tr '\0' ' ')"
}
tree_of_head() { # head: tell its tree, if the commit is here
  require_place
  has_object "$1^{tree}" || return 0
  kept=$(git rev-parse -q --verify "$1^{tree}" 2>&1) || failed git "$kept"
  tell tree "$kept"
  tell git_dir "$GIT_DIR"
}

open_remote() { # head: check that it is here, and that nobody works on the branch there
  require_place
  has_object "$1^{tree}" || fail no_commit "$1"
  case $remote in /*) path=$remote ;; *) return 0 ;; esac
  [ -d "$path" ] || fail away "there is no folder $path"
  used=$(
    of_source worktree list --porcelain 2>/dev/null | while IFS= read -r line; do
      case $line in
      'worktree '*) at=${line#worktree } ;;
      "branch $ref") printf '%s\n' "$at" && break ;;
      esac
    done
  )
  [ -z "$used" ] || fail checked_out "$used"
}
find_branch() { # set found to the commit of the branch; empty if there is none
  said=$(talk ls-remote -- "$remote" "$ref" 2>&1) || fail away "$said"
  tab=$(printf '\t')
  # What git warns of may stand before it, and a longer name may end like ours.
  found=$(
    printf '%s\n' "$said" | while IFS=$tab read -r oid listed; do
      [ "$listed" != "$ref" ] || { echo "$oid" && break; }
    done
  )
}
bring_branch() { # fetch the branch; it may have moved since
  incoming=refs/replan/incoming/$$
  said=$(talk -c fetch.fsckObjects=true fetch --quiet --no-tags --no-recurse-submodules \
    "$remote" "+$ref:$incoming" 2>&1) || fail away "$said"
  found=$(git rev-parse -q --verify "$incoming^{commit}") || fail away "$said"
  keep_found
  git update-ref -d "$incoming"
}
keep_found() { # a person may have to decide about it, or it becomes the head
  said=$(git update-ref "refs/replan/remotes/${ref#refs/heads/}" "$found" 2>&1) || failed git "$said"
}
tell_commits() { # field range: tell the newest commits
  git log --format='%H %s' --max-count="$most" "$2" -- | while IFS= read -r line; do
    tell "$1" "$line"
  done
}
talk() { # words...: run git towards the remote, with what the account knows of it, and no hook
  # A server may check for minutes what it gets: only one that is silent for long is gone.
  with_account git -c core.hooksPath=/dev/null -c push.pushOption= -c http.lowSpeedLimit=1 \
    -c http.lowSpeedTime=300 "$@"
}
