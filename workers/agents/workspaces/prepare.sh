# Makes the workspace of an attempt: a tree of its own, detached at the base, with its own git
# directory, which borrows our objects and has no remote and no hooks.

prepare() { # pattern...: make the workspace of the attempt, or tell the one that there is
  require_place
  open_place
  [ -z "$lasting" ] || begin_once
  git rev-parse -q --verify "refs/replan/bases/$base^{commit}" >/dev/null || fail no_base "$base"
  identify
  sweep_leftovers
  wanted=$base
  [ ! -e "$place/attempts/$attempt" ] || touch "$place/attempts/$attempt"
  if find_workspace; then
    [ "$base" = "$wanted" ] || fail other_base "$base"
    tell_workspace
    return
  fi
  base=$wanted
  # Its folder is gone. Without a name there, another driver may be about to write it.
  [ -z "$made" ] || rm -f "$place/attempts/$attempt"
  # Nothing is lost if somebody has removed the workspace: its last tree is kept.
  last=$(git rev-parse -q --verify "refs/replan/attempts/$attempt^{tree}") && from=$last
  [ -z "$from" ] || git cat-file -e "$from^{tree}" 2>/dev/null || fail no_tree "$from"
  build "$@"
  publish "$place/attempts/$attempt" || {
    remove "$made"
    find_workspace || failed no_place "$place/attempts"
  }
  tell_workspace
  collect_beside
}
begin_once() { # the base of a workspace stays what it was at first, whatever is offered later
  start=refs/replan/starts/$attempt
  git update-ref "$start" "$base" "" 2>/dev/null
  base=$(git rev-parse -q --verify "$start^{commit}") || failed git update-ref
}
tell_workspace() {
  read -r begun <"$made/begun"
  tell path "$tree"
  tell home "$made/home"
  tell base "$base"
  tell begun "$begun"
  [ ! -s "$made/missing" ] || xargs -0 printf 'missing=%s\0' <"$made/missing"
}

build() { # pattern...: fill a folder for the attempt
  template=
  [ -z "$setup" ] || find_template "$@"
  make_folder "at.$attempt"
  tree=$made/$name
  echo "$base" >"$made/base" && mkdir -m 700 "$made/home" || failed no_place "$made"
  case $template in
  '' | rerun)
    check_out "$@"
    copy_ignored "$@"
    [ -z "$template" ] || run_setup
    ;;
  *)
    copy_tree "$place/work/$template/$name" "$tree"
    cp -p "$place/work/$template/index" "$made/index" &&
      cp -p "$place/work/$template/first" "$made/first" || failed copy "$template"
    give_git "$@"
    copy_ignored "$@"
    ;;
  esac
  export GIT_INDEX_FILE="$made/index" GIT_WORK_TREE="$tree"
  cd "$tree" || failed no_place "$tree"
  # A copied tree came with an index of its own, which the first snapshot brings up to date.
  [ "$template" != rerun ] || keep_files
  begun=$(git write-tree) || failed git write-tree
  if [ "$from" ]; then
    write_files "$from" || failed git "$said"
    begun=$from
  fi
  echo "$begun" >"$made/begun" || failed no_place "$made"
  cd /
}
check_out() { # pattern...: fill the tree with the files of the base; nothing of a configuration is asked
  mkdir "$tree" || failed no_place "$tree"
  (
    export GIT_INDEX_FILE="$made/index" GIT_WORK_TREE="$tree"
    cd "$tree" && write_files "$base" || failed check_out "$said"
  ) || exit
  cp -p "$made/index" "$made/first" || failed no_place "$made"
  give_git "$@"
}
give_git() { # pattern...: the git directory of the agent; its path to our objects is relative
  agents=$tree/.git
  mkdir -p "$agents/objects/info" "$agents/objects/pack" "$agents/refs/heads" \
    "$agents/refs/tags" "$agents/info" &&
    echo ../../../../../ours.git/objects >"$agents/objects/info/alternates" &&
    echo "$base" >"$agents/HEAD" &&
    { sed -n '/^\[extensions\]/,$p' "$GIT_DIR/config" && printf '%s\n' '[core]' \
      "repositoryFormatVersion = $version" 'bare = false' 'fileMode = true' \
      'logAllRefUpdates = true' '[user]' 'name = agent' 'email = agent@localhost' \
      '[gc]' 'auto = 0'; } >"$agents/config" &&
    cp -p "$made/first" "$agents/index" || failed no_place "$agents"
  exclude_ignored "$@"
  cp "$made/exclude" "$agents/info/exclude" || failed no_place "$agents"
  [ ! -s "$GIT_DIR/shallow" ] || cp "$GIT_DIR/shallow" "$agents/shallow"
}
exclude_ignored() { # pattern...: write what only the source ignores, and all that is copied
  exclude=
  [ -z "$path" ] ||
    exclude=$(cd "$path" && unset GIT_DIR && git -c safe.directory='*' rev-parse --git-path info/exclude)
  {
    (cd "$path" && [ -r "$exclude" ] && cat "$exclude" && echo)
    for pattern; do printf '/%s\n' "$pattern"; done
  } >"$made/exclude" 2>/dev/null
}
copy_ignored() { # pattern...: copy ignored files that the project needs; note what is not there
  : >"$made/missing"
  [ "$1" ] || return 0
  for pattern; do
    found= pattern=${pattern%/}
    [ -z "$path" ] || {
      IFS=
      for each in "$path"/$pattern; do
        [ -e "$each" ] || [ -L "$each" ] || continue
        each=${each#"$path"/}
        git cat-file -e "$base:$each" 2>/dev/null && continue
        make_parent "$each" || continue
        found=1
        # What an earlier copy has left there is replaced, not filled.
        rm -rf "${tree:?}/$each"
        cp -pPR "$path/$each" "$tree/$each" || failed copy "$each"
      done
      unset IFS
    }
    [ "$found" ] || printf '%s\0' "$pattern" >>"$made/missing"
  done
}
make_parent() { # file: make its folder in the tree; fail if a link leads out of the tree there
  case $1 in
  */*)
    set -- "${1%/*}"
    mkdir -p "$tree/$1" 2>/dev/null
    [ "$(cd "$tree/$1" 2>/dev/null && pwd -P)" = "$(cd "$tree" && pwd -P)/$1" ]
    ;;
  esac
}
copy_tree() { # folder to: copy it, sharing blocks where the disk can
  cp -a --reflink=auto "$1" "$2" 2>/dev/null && return
  remove "$2"
  said=$(cp -a "$1" "$2" 2>&1) || failed copy "$said"
}

find_template() { # pattern...: set template to the tree in which the setup command has run, or rerun
  key=$(printf '%s\n' "$base" "$setup" "$@" | git hash-object --stdin) || failed git hash-object
  claim=$place/work/claim.$key held=
  while :; do
    if { read -r template <"$place/bases/$key"; } 2>/dev/null; then
      [ "$template" = rerun ] || [ -d "$place/work/$template/$name" ] || {
        rm -f "$place/bases/$key"
        continue
      }
      touch "$place/bases/$key"
      break
    fi
    [ -z "$held" ] || { build_template "$@"; break; }
    # Once it is ours, somebody may just have finished.
    take_claim && held=1 || sleep 0.2 || sleep 1
  done
  [ -z "$held" ] || rm -f "$claim"
}
take_claim() { # make the file that says who runs the setup command; fail if there is one
  echo "$me" >"$claim.$$" || failed no_place "$place/work"
  ln "$claim.$$" "$claim" 2>/dev/null
  set -- $?
  rm -f "$claim.$$"
  [ "$1" != 0 ] || return 0
  { read -r line <"$claim"; } 2>/dev/null || return 1
  lives $line && return 1
  # Only one of those who see that its owner is gone moves it away; then all try again.
  mv "$claim" "$claim.$$" 2>/dev/null || return 1
  read -r line <"$claim.$$" && lives $line && ln "$claim.$$" "$claim" 2>/dev/null
  rm -f "$claim.$$"
  return 1
}
build_template() { # pattern...: run the setup command in a tree of its own, to be copied
  make_folder "base.$key"
  tree=$made/$name
  check_out "$@"
  copy_ignored "$@"
  run_setup
  remove "$tree/.git"
  if names_itself; then
    remove "$made"
    echo rerun >"$place/bases/$key" && template=rerun || failed no_place "$place/bases"
    return
  fi
  (
    export GIT_INDEX_FILE="$made/index" GIT_WORK_TREE="$tree"
    cd "$tree" && keep_files && git write-tree >/dev/null || failed git write-tree
  ) || exit
  publish "$place/bases/$key" || remove "$made"
  read -r template <"$place/bases/$key" || failed no_place "$place/bases"
}
run_setup() { # make the tree ready, in the environment of any command
  (
    cd "$tree" || exit
    HOME=$first_home XDG_CONFIG_HOME=$first_xdg
    [ "$XDG_CONFIG_HOME" ] || unset XDG_CONFIG_HOME
    unset GIT_DIR GIT_CONFIG_NOSYSTEM GIT_ATTR_NOSYSTEM GIT_CONFIG_GLOBAL GIT_ALLOW_PROTOCOL \
      GIT_NO_REPLACE_OBJECTS GIT_OPTIONAL_LOCKS GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL \
      GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL
    exec /bin/sh -c "$setup" sh
  ) >"$made/setup" 2>&1 </dev/null
  set -- $?
  [ "$1" = 0 ] || {
    tell exit_code "$1"
    failed setup "$(tail -c 2000 "$made/setup" | tr '\0' ' ')"
  }
}
names_itself() { # check whether anything in the tree names its own folder, and so cannot be moved
  grep -rqF -- "${made##*/}" "$tree" 2>/dev/null && return
  (cd "$tree" && find . -type l -exec ls -l {} +) 2>/dev/null | grep -qF -- "${made##*/}"
}
