# The folders of a repository's workspaces on a host; the first part of every script.
#
# /bin/sh (dash, bash, busybox) runs it. Besides a shell it needs git, /proc, and mkdir, mv, ln, cp,
# rm, cmp, tee, touch, chmod, find, grep, sed, tr, sort, xargs, head, tail, wc, du, df, dd, ls,
# readlink, sleep. A line
# before it sets place (the folder of the repository) and the values that a function names.
#
# Below the place:
#   ours.git       our git directory, which no agent uses; its refs are
#                  refs/replan/bases/SHA, refs/replan/passes/PASS, refs/replan/attempts/ATTEMPT
#                  (the last tree), refs/replan/commits/ATTEMPT (those of the agent),
#                  refs/replan/starts/ATTEMPT (the commit that it began with)
#   plain.git      the same without a part of the attributes; made when it is needed
#   work/at.A.N    a workspace: NAME (the tree), home, index (ours), exclude, base, builder, nested
#   work/base.K.N  a tree in which the setup command has run, to be copied
#   work/claim.K   who is running the setup command for it
#   attempts/A     the name of the workspace of attempt A, written once it is complete
#   bases/K        the name of the tree with the key K, or "rerun" if it cannot be copied
# Every answer is a list of fields, NAME=VALUE, each with a NUL at its end. After `error`, nothing
# else follows but `detail`, and the exit code is 3.
newline='
'
me=
incoming=
first_home=$HOME first_xdg=$XDG_CONFIG_HOME
unset GIT_WORK_TREE GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES \
  GIT_COMMON_DIR GIT_NAMESPACE GIT_CONFIG GIT_CONFIG_COUNT GIT_CONFIG_PARAMETERS GIT_PREFIX \
  GIT_EXTERNAL_DIFF GIT_DIFF_OPTS GIT_CEILING_DIRECTORIES GIT_TEMPLATE_DIR GIT_SHALLOW_FILE \
  GIT_REPLACE_REF_BASE GIT_GRAFT_FILE GIT_DEFAULT_HASH GIT_TRACE GIT_ATTR_SOURCE
export LC_ALL=C GIT_DIR="$place/ours.git" GIT_CONFIG_NOSYSTEM=1 GIT_ATTR_NOSYSTEM=1 \
  GIT_CONFIG_GLOBAL=/dev/null HOME="$place/nobody" XDG_CONFIG_HOME="$place/nobody" \
  GIT_TERMINAL_PROMPT=0 GIT_LFS_SKIP_SMUDGE=1 GIT_NO_REPLACE_OBJECTS=1 GIT_OPTIONAL_LOCKS=0 \
  GIT_ALLOW_PROTOCOL=file:git:http:https:ssh \
  GIT_AUTHOR_NAME=replan GIT_AUTHOR_EMAIL=replan@localhost \
  GIT_COMMITTER_NAME=replan GIT_COMMITTER_EMAIL=replan@localhost

tell() { printf '%s=%s\0' "$1" "$2"; }
fail() { # code detail: say why, and end
  tell error "$1"
  tell detail "$2"
  exit 3
}
failed() { # what, and its output: say that it failed; a full disk is the reason if there is one
  is_full && fail disk_full "$place"
  fail "$1" "$2"
}
has_object() { # name: check that it is here; end with git's words if git cannot tell
  git_says=$(git cat-file -e "$1" 2>&1) && return 0
  [ "$git_says" = "fatal: Not a valid object name $1" ] || failed git "$git_says"
  return 1
}
is_full() { # check whether the disk takes nothing more
  dd if=/dev/zero of="$place/.room.$$" bs=65536 count=1 2>/dev/null
  set -- $?
  rm -f "$place/.room.$$"
  [ "$1" != 0 ]
}
quote_path() { # path: print it as an entry of a list of alternates
  printf '"%s"' "$(printf %s "$1" | sed 's/[\\"]/\\&/g')"
}
size_of() { # folder: print its size in kB
  set -- $(du -sk "$1" 2>/dev/null)
  echo "${1:-0}"
}
own() { # folder: make it, for this account alone; it is not a link
  [ -d "$1" ] || mkdir -p -m 700 "$1" 2>/dev/null
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]
}
require_git() { # check that git is there, and new enough
  command -v git >/dev/null 2>&1 || fail no_git
  program=$(git --version 2>/dev/null) program=${program#git version }
  major=${program%%.*} minor=${program#*.}
  { [ "$major" -gt 2 ] || { [ "$major" = 2 ] && [ "${minor%%[!0-9]*}" -ge 20 ]; }; } 2>/dev/null ||
    fail old_git "$program"
}
open_place() { # make the folders
  require_git
  own "${place%/*}" && own "$place" && mkdir -p "$place/work" "$place/attempts" "$place/bases" ||
    failed no_place "$place"
}
require_place() { # check that the repository has been here
  command -v git >/dev/null 2>&1 || fail no_git
  [ -d "$GIT_DIR/refs" ] && [ ! -L "$place" ] && [ -O "$place" ] || fail no_place "$place"
  keep_config
}
keep_config() { # [format]: make our git directory, or put its configuration right
  held=
  [ ! -e "$GIT_DIR/config" ] || while IFS= read -r line; do held=$held$line$newline; done \
    <"$GIT_DIR/config"
  case $1$held in *sha256*) format=sha256 version=1 ;; *) format=sha1 version=0 ;; esac
  meant="[core]
repositoryFormatVersion = $version
bare = true
fileMode = true
symlinks = true
hooksPath = /dev/null
excludesFile = /dev/null
attributesFile = /dev/null
fsmonitor = false
autocrlf = false
safecrlf = false
logAllRefUpdates = false
looseCompression = 1
[gc]
auto = 0
[maintenance]
auto = false
[fetch]
recurseSubmodules = false
[extensions]
objectFormat = $format
"
  [ $version = 1 ] || meant=${meant%'[extensions]'*}
  [ ! -e "$GIT_DIR/commondir" ] && [ ! -L "$GIT_DIR/commondir" ] || rm -f "$GIT_DIR/commondir"
  [ "$held" = "$meant" ] && return
  mkdir -p "$GIT_DIR/objects/pack" "$GIT_DIR/objects/info" "$GIT_DIR/refs" "$GIT_DIR/info" &&
    [ -e "$GIT_DIR/HEAD" ] || echo 'ref: refs/heads/none' >"$GIT_DIR/HEAD"
  printf %s "$meant" >"$GIT_DIR/config.$$" && mv -f "$GIT_DIR/config.$$" "$GIT_DIR/config" ||
    failed no_place "$GIT_DIR"
}

stat_of() { # pid: set at to its start, in ticks after boot; fail if it is over
  { read -r line </proc/"$1"/stat; } 2>/dev/null || return 1
  set -- ${line##*) }
  at=${20}
  [ "$1" != Z ] && [ "$1" != X ]
}
identify() { # set me: what tells this process from every other one, on every machine
  read -r boot </proc/sys/kernel/random/boot_id
  space=$(readlink /proc/self/ns/pid) || space=-
  stat_of $$ || fail no_proc
  me="$$ $at $boot $space"
}
lives() { # pid start boot namespace: check whether the process lives
  [ "$3" = "$boot" ] && [ "$4" = "$space" ] && stat_of "$1" && [ "$at" = "$2" ]
}
is_built() { # folder: check whether somebody is making it now; one that names nobody is very young
  [ -s "$1/builder" ] || { [ -z "$(find "$1" -prune -mmin +1)" ]; return; }
  read -r line <"$1/builder" && lives $line
}
make_folder() { # name: set made to a new folder of that name
  stat_of $$
  made=$place/work/$1.$$-$at
  mkdir "$made" && echo "$me" >"$made/builder" || {
    rm -rf "$made" # a full disk: with no name in it, others would take it for young
    failed no_place "$made"
  }
}
publish() { # file: give it the name of the made folder; fail if another one was faster
  echo "${made##*/}" >"$made/name" && ln "$made/name" "$1" 2>/dev/null
}
remove() { # folder: remove it, whatever its rights say
  rm -rf "$1" 2>/dev/null && return
  chmod -R u+rwX "$1" 2>/dev/null
  rm -rf "$1"
}
sweep_leftovers() { # remove what a process that was killed has left behind
  named=' '
  for each in "$place"/attempts/* "$place"/bases/*; do
    [ ! -e "$each" ] || { read -r line <"$each" && named="$named$line "; }
  done
  for each in "$place"/work/claim.*; do
    { read -r line <"$each"; } 2>/dev/null && { lives $line || rm -f "$each"; }
  done
  for each in "$place"/work/*; do
    [ -d "$each" ] || continue
    case $named in *" ${each##*/} "*) continue ;; esac
    # Who made it may have named it since we read the names, and does so before the end: look again.
    is_built "$each" || is_named "${each##*/}" || remove "$each"
  done
}
is_named() { # folder's name: check whether an attempt or a base has it now
  for file in "$place"/attempts/* "$place"/bases/*; do
    { read -r line <"$file"; } 2>/dev/null && [ "$line" = "$1" ] && return
  done
  return 1
}
find_workspace() { # set made, tree and base to those of the attempt; fail if there is none
  made= tree= base=
  { read -r made <"$place/attempts/$attempt"; } 2>/dev/null && [ "$made" ] || return 1
  made=$place/work/$made
  tree=$made/$name
  { read -r base <"$made/base"; } 2>/dev/null && [ -d "$tree" ] && [ ! -L "$tree" ]
}
tell_tree() { # tell where the files of the attempt are, if it has a workspace
  ! find_workspace || tell path "$tree"
}
require_workspace() { find_workspace || fail no_workspace "$attempt"; }

write_files() { # tree: make the files in this folder those of the tree; set said
  said=$(git read-tree --reset -u "$1" 2>&1) && return
  said=$(plainly git read-tree --reset -u "$1" 2>&1)
}
plainly() { # words...: run git while no .gitattributes can name an encoding, which may not exist
  mkdir -p "$place/plain.git/refs" "$place/plain.git/info" &&
    cp "$GIT_DIR/HEAD" "$GIT_DIR/config" "$place/plain.git" &&
    echo '* !working-tree-encoding' >"$place/plain.git/info/attributes" || return
  GIT_OBJECT_DIRECTORY=$GIT_DIR/objects GIT_DIR=$place/plain.git "$@"
}

whole_names() { # bytes: print the names that come in, as many as fit, each with its NUL
  # The mark is on what was cut off, or on nothing: no name has two slashes.
  { head -c "$1" && printf '//cut\0'; } | grep -z -v //cut
}
