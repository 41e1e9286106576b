# Brings the commit that work starts from into our git directory.

quiet_ssh='-o BatchMode=yes -o ConnectTimeout=30 -o ServerAliveInterval=15 -o ServerAliveCountMax=4'

resolve_base() { # pass url branch: tell the commit, the same one for every call of a pass
  open_place
  url=$2 source=${path:-$2} branch=$3 pass_ref=refs/replan/passes/$1
  if [ -e "$GIT_DIR/config" ]; then
    keep_config
    sha=$(git rev-parse -q --verify "$pass_ref^{commit}") && { tell base "$sha"; tell_again "$1"; return 0; }
  fi
  [ -z "$path" ] || look_at_source
  [ -e "$GIT_DIR/config" ] || keep_config "$(format_of_source)"
  [ -z "$path" ] || [ -e "$GIT_DIR/objects/pack/linked" ] || link_packs
  incoming=refs/replan/incoming/$$
  bring "$incoming"
  sha=$(git rev-parse -q --verify "$incoming^{commit}") || fail not_a_commit "$branch"
  refuse_submodules
  git update-ref "refs/replan/bases/$sha" "$sha" || failed git "$said"
  git update-ref "$pass_ref" "$sha" "$(zeros)" 2>/dev/null ||
    sha=$(git rev-parse -q --verify "$pass_ref^{commit}") || failed git "$pass_ref"
  git update-ref -d "$incoming"
  tell base "$sha"
  tell_again "$1" || { notice >"$GIT_DIR/notices.$$"; keep_notices "$1"; tell_again "$1"; }
}
notice() { # tell what a person should know about the source
  [ ! -s "$GIT_DIR/shallow" ] || tell shallow yes
  tell_notices
}
tell_notices() { # what a person should know of the commit, and of the folder that it comes from
  if [ "$path" ]; then
    if [ "$top" ]; then tell_dirty; else tell bare yes; fi
  fi
  tell_lfs
  tell_links "$sha"
}
keep_notices() { # pass: every later call for it tells the same
  mkdir -p "$GIT_DIR/notices" && mv "$GIT_DIR/notices.$$" "$GIT_DIR/notices/$1" ||
    failed no_place "$GIT_DIR/notices"
}
tell_again() { # pass: fail if its notices are not kept
  cat "$GIT_DIR/notices/$1" 2>/dev/null
}
zeros() { case $format in sha256) printf %064d 0 ;; *) printf %040d 0 ;; esac; }

of_source() { # words...: ask git there, whoever owns the folder; no hook or filter runs
  (unset GIT_DIR && exec git -C "$path" -c safe.directory='*' -c core.fsmonitor=false "$@")
}
look_at_source() { # refuse what is not a repository; set top, git_dir and common
  [ -d "$path" ] || fail absent "$path"
  [ -r "$path" ] && [ -x "$path" ] || fail unreadable "$path"
  git_dir=$(of_source rev-parse --absolute-git-dir 2>/dev/null) || {
    # What looks like one has something wrong that git can name.
    [ ! -e "$path/.git" ] || fail git "$(of_source rev-parse --absolute-git-dir 2>&1)"
    fail no_repository "$path"
  }
  common=$(cd "$path" && cd "$(of_source rev-parse --git-common-dir)" && pwd -P) ||
    fail no_repository "$path"
  for each in "$common"/objects/pack/*.promisor; do
    [ ! -e "$each" ] || fail partial "$path"
  done
  top=
  [ "$(of_source rev-parse --is-bare-repository)" != true ] || return 0
  top=$(of_source rev-parse --show-toplevel 2>/dev/null) || fail no_repository "$path"
  real=$(cd "$path" && pwd -P) above=$(cd "$top" && pwd -P)
  case $real/ in
  "$above/") ;;
  "${above%/}/"*) fail inside "$top" ;;
  *) fail git "its configuration says that its files are in $top" ;;
  esac
}
tell_dirty() { # how many files of the source differ from its last commit, as our own git sees it
  cp -p "$git_dir/index" "$place/.dirty.$$" 2>/dev/null || return 0
  # A part of the index may lie beside it; git looks for that in the directory of the repository.
  cp -p "$git_dir"/sharedindex.* "$GIT_DIR" 2>/dev/null
  dirty=$(
    export GIT_WORK_TREE="$top" GIT_INDEX_FILE="$place/.dirty.$$" \
      GIT_ALTERNATE_OBJECT_DIRECTORIES="$(quote_path "$common/objects")"
    exclude=$common/info/exclude
    [ -r "$exclude" ] || exclude=/dev/null
    cd "$top" && {
      git ls-files -z -o -m -d --exclude-standard --exclude-from="$exclude"
      git diff-index --cached --name-only -z "$(of_source rev-parse -q --verify HEAD)"
    } 2>/dev/null | sort -z -u | tr -cd '\0' | wc -c
  )
  rm -f "$place/.dirty.$$" "$GIT_DIR"/sharedindex.*
  tell uncommitted "$((dirty))"
}
format_of_source() {
  if [ "$path" ]; then
    of_source rev-parse --show-object-format 2>/dev/null
  else
    read -r line <<END
$(with_account git ls-remote -- "$url" 2>/dev/null | head -n 1)
END
    set -- ${line%%[!0-9a-f]*}
    [ ${#1} != 64 ] || echo sha256
  fi
}
with_account() { # words...: run git with the account's own configuration, for proxies and passwords
  (
    HOME=$first_home XDG_CONFIG_HOME=$first_xdg
    [ "$XDG_CONFIG_HOME" ] || unset XDG_CONFIG_HOME
    unset GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM
    # Nobody is there to be asked: what git and ssh do not know is their error.
    export GIT_ASKPASS= SSH_ASKPASS= SSH_ASKPASS_REQUIRE=never GCM_INTERACTIVE=never
    [ "$GIT_SSH_COMMAND" ] || GIT_SSH_COMMAND=$(git config core.sshCommand)
    if [ "$GIT_SSH_COMMAND" ] || [ -z "$GIT_SSH" ]; then
      export GIT_SSH_COMMAND="${GIT_SSH_COMMAND:-ssh} $quiet_ssh"
    fi
    exec "$@"
  )
}
link_packs() { # share the packs of a source on the same disk; what they lack, the fetch brings
  for each in "$common"/objects/pack/pack-*.idx; do
    [ -e "$each" ] || continue
    ln "${each%.idx}.pack" "$GIT_DIR/objects/pack/" 2>/dev/null &&
      ln "$each" "$GIT_DIR/objects/pack/" 2>/dev/null || break
  done
  : >"$GIT_DIR/objects/pack/linked"
}
bring() { # ref: fetch the branch; all that belongs to its commit is ours then
  wanted=HEAD
  [ -z "$branch" ] || wanted=refs/heads/$branch
  git check-ref-format "refs/heads/${branch:-x}" || fail no_branch "$branch"
  for turn in 1 2 3; do
    said=$(fetch "+$wanted:$1" 2>&1) && return
    git rev-parse -q --verify "$1" >/dev/null && return
    explain_fetch
  done
  failed unreachable "$said"
}
fetch() { # refspec
  set -- fetch --quiet --no-tags --update-shallow --no-recurse-submodules "$source" "$1"
  if [ "$path" ]; then
    verb=$1
    shift
    git "$verb" --upload-pack "git -c safe.directory='*' upload-pack" "$@"
  else
    with_account git -c core.hooksPath=/dev/null -c fetch.fsckObjects=true \
      -c http.lowSpeedLimit=1 -c http.lowSpeedTime=60 "$@"
  fi
}
explain_fetch() { # refuse a repository without commits or the branch; else it may have changed just now
  if [ "$path" ]; then
    refs=$(of_source for-each-ref --format='%(refname)' refs/heads 2>/dev/null) || return
    detached=$(of_source rev-parse -q --verify HEAD 2>/dev/null)
  else
    refs=$(with_account git ls-remote --heads -- "$url" 2>/dev/null) || return
    refs=$(printf '%s\n' "$refs" | sed 's/^[0-9a-f]*[[:space:]]*//') detached=
  fi
  [ "$refs$detached" ] || fail empty "$source"
  [ "$branch" ] || { [ "$detached" ] || { tell branches "$refs"; fail unborn_branch "$source"; }; }
  case $newline$refs$newline in *"${newline}refs/heads/$branch$newline"*) return ;; esac
  [ -z "$branch" ] || { tell branches "$refs"; fail no_branch "$branch"; }
}

refuse_submodules() {
  found=$(git ls-tree -r -z "$sha" | grep -z '^160000 ' | head -c 2000 | tr '\0' '\n' | sed 's/^[^	]*	//')
  [ "$found" ] || return 0
  [ -z "$incoming" ] || git update-ref -d "$incoming"
  fail submodules "$found"
}
tell_lfs() { # whether .gitattributes leave files to another program, which never runs here
  git grep -q -E 'filter=lfs' "$sha" -- ':(glob)**/.gitattributes' 2>/dev/null &&
    tell lfs yes
  return 0
}
# A target may be a file of any size. No system follows one of more than 4095 bytes.
tell_links() { # tree: its symbolic links with their targets, so that those out of it can be named
  git ls-tree -r -z "$1" | grep -z '^120000 ' | whole_names 60000 | xargs -0 -r sh -c '
    room=200000
    for each; do
      oid=${each#* * } oid=${oid%%	*}
      target=$(git cat-file blob "$oid" 2>/dev/null | head -c 4096; echo .)
      room=$((room - ${#each} - ${#target}))
      [ "$room" -ge 0 ] || break
      printf "link=%s\0target=%s\0" "${each#*	}" "${target%.}"
    done' sh
}
