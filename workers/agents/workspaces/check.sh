# Says whether work can start from a repository; nothing is kept, and no program of it runs.

check_source() { # url branch: tell the commit that work would start from
  require_git
  tell git "$program"
  require_room
  url=$1 source=${path:-$1} branch=$2
  if [ "$path" ]; then check_path; else check_url; fi
  [ -z "$remote" ] || check_remote
}
check_remote() { # check that git can read what work is to be published to
  said=$(with_account git ls-remote -- "$remote" 2>&1) ||
    fail no_remote "$(printf '%s\n' "$said" | grep -v '^$' | head -n 4)"
}
require_room() { # check that the account could keep workspaces
  there=$place
  while [ "$there" ] && ! [ -e "$there" ] && ! [ -L "$there" ]; do there=${there%/*}; done
  [ -d "${there:-/}" ] && [ -w "${there:-/}" ] || fail no_place "${there:-/}"
}
check_path() {
  look_at_source
  refs=$(of_source for-each-ref --count="$most" --format='%(refname)' refs/heads 2>/dev/null)
  wanted=HEAD
  [ -z "$branch" ] || wanted=refs/heads/$branch
  sha=$(of_source rev-parse -q --verify "$wanted^{commit}" 2>/dev/null) || {
    explain_fetch
    fail not_a_commit "${branch:-HEAD}"
  }
  [ "$branch" ] || branch=$(of_source symbolic-ref --quiet --short HEAD)
  # Our own git looks at the objects, with no configuration but its own.
  room=$(mktemp -d) || fail no_place "${TMPDIR:-/tmp}"
  trap 'rm -rf "$room"' EXIT
  place=$room GIT_DIR=$room/ours.git
  keep_config "$(format_of_source)"
  export GIT_ALTERNATE_OBJECT_DIRECTORIES="$(quote_path "$common/objects")"
  git cat-file -e "$sha^{tree}" 2>/dev/null || fail not_a_commit "${branch:-HEAD}"
  refuse_submodules
  tell_start
  [ ! -s "$common/shallow" ] || tell shallow yes
  tell_notices
}
check_url() {
  said=$(with_account git ls-remote --symref -- "$url" 2>&1) ||
    fail unreachable "$(printf '%s\n' "$said" | grep -v '^$' | head -n 4)"
  tab=$(printf '\t')
  heads=$(printf '%s\n' "$said" | grep "^[0-9a-f]*${tab}refs/heads/") || fail empty "$url"
  refs=$(printf '%s\n' "$heads" | head -n "$most" | sed "s|^.*${tab}||")
  [ "$branch" ] || branch=$(printf '%s\n' "$said" | sed -n "s|^ref: refs/heads/\(.*\)${tab}HEAD\$|\1|p")
  sha=$(
    printf '%s\n' "$said" | while IFS=$tab read -r oid ref; do
      case $branch$ref in
      HEAD | "${branch:-/}refs/heads/$branch") echo "$oid" && break ;;
      esac
    done
  )
  [ "$sha" ] || { tell branches "$refs"; fail no_branch "$branch"; }
  tell_start
}
tell_start() {
  tell branch "$branch"
  tell branches "$refs"
  tell commit "$sha"
}
