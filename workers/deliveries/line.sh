# Publishes deliveries and merges them into the line of a session, in our git directory alone: no
# work tree, no branch, and nothing that a configuration or an attribute says.
#
# What is written can be written again: objects have the names of their contents, a commit is made
# of what its delivery says, and a ref is a file that is moved into its place. So a script that was
# killed anywhere is simply run again. Besides the tools of the folders, it needs base64.
#
# Below the place:
#   ours.git/refs/replan/deliveries/DELIVERY   the commit of a delivery on its base
#   ours.git/refs/replan/conflicts/DELIVERY    the tree of its last conflict, with the markers
#   ours.git/refs/replan/sessions/SESSION      the head of a session
#   work/line.N                                what one script works with
#   work/patch.OID.N.PART                      a part of a patch that was sent here
#   work/given.OID                             what was given and has more than one page

# A folder may be named `:(foo)`.
export GIT_LITERAL_PATHSPECS=1

open_line() { # make a folder to work in, and go there
  require_place
  [ -d "$place/work" ] || mkdir -p "$place/work" || failed no_place "$place"
  identify
  for each in "$place"/work/line.*; do
    [ ! -e "$each" ] || is_built "$each" || remove "$each"
  done
  for each in "$place"/work/given.*; do
    [ ! -e "$each" ] || find "$each" -prune -mmin +60 -exec rm -f {} +
  done
  make_folder line
  trap 'cd /; remove "$made"' EXIT
  cd "$made" || failed no_place "$made"
  export GIT_INDEX_FILE="$made/index"
}
require_commit() { has_object "$1^{commit}" || fail no_commit "$1"; }
require_tree() { has_object "$1^{tree}" || fail no_tree "$1"; }
differ() { # from to words...
  from=$1 to=$2
  shift 2
  git diff-tree -r --full-index --no-renames --no-color --no-ext-diff --no-textconv "$@" \
    "$from" "$to" --
}
print_patch() { # base tree words...
  one=$1 another=$2
  shift 2
  differ "$one" "$another" "$@" -p --binary --src-prefix=a/ --dst-prefix=b/
}
explain() { # base tree: say why git cannot compare them, or make a commit of them
  require_commit "$1"
  require_tree "$2"
  failed git "$(cat said)"
}
write_changes() { # from to: write the files that differ, and the sizes of their contents
  differ "$1" "$2" --raw >changes 2>said || explain "$1" "$2"
  write_sizes
}
write_sizes() { # write the kinds and sizes of all contents before and after the changes
  sed -n 's/^:[0-7]* [0-7]* \([0-9a-f]*\) \([0-9a-f]*\) [A-Z]	.*/\1\
\2/p;/^$/q' changes | measure >sizes || failed git cat-file
}
measure() { # print the kinds and sizes of the objects whose names come in
  git cat-file --batch-check='%(objectname) %(objecttype) %(objectsize)'
}
look_around() { # head tree: write what gates ask for next: contents, names, and earlier history
  write_beside "$2"
  total=0
  set -- "$1"
  while read -r oid type size; do
    [ "$type" = blob ] || continue
    total=$((total + size))
    [ "$total" -gt "$ahead" ] || echo "$oid"
    set -- "$@" "$oid"
  done <sizes >few
  git cat-file --batch <few >contents &
  : >found
  [ $# -ge 2000 ] || { write_history "$@" && tell looked yes; }
  wait $! || failed git cat-file
}
write_beside() { # tree: write what is in the folders of new files, but not of those with odd names
  : >beside
  sed -n 's/^:000000 [^	]*	\([^"].*\)/\1/p;/^$/q' changes >new
  [ -s new ] || return 0
  git ls-tree -z --name-only "$1" >beside || failed git ls-tree
  sed -n -e ':up' -e 's,[^/]*/*$,,' -e '/./!d' -e p -e 'b up' new | sort -u | tr '\n' '\0' |
    xargs -0 -r git ls-tree -t -z --name-only "$1" -- >>beside || failed git ls-tree
}
write_history() { # head oid...: the commits of the line that put an object in or out of a path
  [ $# -gt 1 ] || return 0
  tip=$1
  shift
  for each; do
    shift
    set -- "$@" "--find-object=$each"
  done
  # The line may be shorter than the depth.
  git log --first-parent -m --raw -z --no-abbrev --no-renames --no-color --no-ext-diff \
    --format=%H "$@" --ignore-missing "$tip" "^$tip~$depth" -- >found || failed git log
}
give() { # file...: tell their sizes, and print them, or the first page of them for which there is room
  sizes=$(wc -c "$@") total=0
  while read -r size file; do
    [ "$file" = total ] || { tell size "$size"; total=$((total + size)); }
  done <<END
$sizes
END
  [ "$total" -gt "$room" ] || { printf '\0' && cat "$@"; return; }
  cat "$@" >whole && oid=$(git hash-object --no-filters whole) &&
    ln -f whole "$place/work/given.$oid" || failed no_place "$made"
  tell given "$oid"
  printf '\0'
  head -c "$room" whole
}
page() { # oid offset: print another page of what was given, and forget it with the last one
  require_place
  whole=$place/work/given.$1
  [ -f "$whole" ] || fail no_page "$1"
  tell given "$1"
  printf '\0'
  tail -c "+$(($2 + 1))" "$whole" | head -c "$room"
  [ $(($2 + room)) -lt "$(wc -c <"$whole")" ] || rm -f "$whole"
}

changes() { # base tree
  open_line
  write_changes "$1" "$2"
  give changes sizes
}
patch() { # base tree
  open_line
  print_patch "$1" "$2" >patch 2>said || explain "$1" "$2"
  tell oid "$(git hash-object --no-filters patch)"
  give patch
}
publish_tree() { # base tree: give its changes and its patch, which makes that tree of the base
  open_line
  print_patch "$1" "$2" --raw >changes 2>said || explain "$1" "$2"
  write_sizes
  sed '/^$/q' changes >raw
  patch=$(($(wc -c <changes) - $(wc -c <raw)))
  tell patch "$patch"
  if [ "$patch" -gt "$most" ]; then
    mv -f raw changes && : >contents && : >found && : >beside || failed no_place "$made"
    tell oid "$(git hash-object --no-filters changes)"
  else
    # What stands before a patch is not read.
    require_made "$1" "$2" changes >proof &
    proof=$!
    look_around "$1" "$2"
    tell oid "$(git hash-object --no-filters changes)"
    wait $proof || { cat proof; exit 3; }
  fi
  give sizes contents found beside changes
}
require_made() { # base tree file: check that the patch makes the tree
  apply_patch "$1" "$3"
  [ "$applied" = "$2" ] || [ "$applied" = "$(git rev-parse "$2^{tree}")" ] ||
    fail other_tree "$applied"
}
contents() { # oid...: give the blobs that are not larger than the limit
  open_line
  printf '%s\n' "$@" | measure >sizes || failed git cat-file
  while read -r oid type size; do
    [ "$type" != blob ] || [ "$size" -gt "$limit" ] || echo "$oid"
  done <sizes >few
  git cat-file --batch <few >contents || failed git cat-file
  give contents
}
entries() { # tree root: give the names in the root, if asked for, and in the folders at paths
  open_line
  require_tree "$1"
  printf %s "$paths" | base64 -d >paths || failed git base64
  { [ -z "$2" ] || git ls-tree -z --name-only "$1"; } >names || failed git ls-tree
  # Of a folder that stands in another one, only -t tells the name, too.
  xargs -0 -r git ls-tree -t -z --name-only "$1" -- <paths >>names || failed git ls-tree
  give names
}
links() { # tree: give its symbolic links, a line for each with NUL for newline, and their blobs
  open_line
  require_tree "$1"
  git ls-tree -r -z "$1" >all || failed git ls-tree
  tr '\n\0' '\0\n' <all | sed -n '/^120000 /p' >found
  cut -d ' ' -f 3 <found | cut -f 1 | sort -u | git cat-file --batch >targets ||
    failed git cat-file
  give found targets
}
history() { # head oid...
  open_line
  require_commit "$1"
  write_history "$@"
  give found
}

apply_patch() { # base file: set applied to the tree that it makes
  said=$(git read-tree "$1" 2>&1) || { require_commit "$1"; failed git "$said"; }
  if [ -s "$2" ]; then
    said=$(git apply --cached --whitespace=nowarn "$2" 2>&1) || failed unapplied "$said"
  fi
  applied=$(git write-tree) || failed git write-tree
}
prove() { # base tree oid: tell whether the patch between them has that name
  require_place
  found=$(print_patch "$1" "$2" 2>/dev/null | git hash-object --no-filters --stdin)
  [ "$found" != "$3" ] || { tell proven yes; forget_parts "$3"; }
}
take_part() { # oid number: keep a part of a patch
  open_line
  printf %s "$part" | base64 -d >part && mv -f part "$place/work/patch.$1.$2" ||
    failed no_place "$place/work"
}
forget_parts() { # oid
  for each in "$place/work/patch.$1."*; do
    [ ! -e "$each" ] || rm -f "$each"
  done
}
apply_parts() { # base tree oid count: make the tree of the parts that were sent, and remove them
  open_line
  part=0
  while [ "$part" -lt "$4" ] && cat "$place/work/patch.$3.$4.$part"; do
    part=$((part + 1))
  done >patch 2>/dev/null
  [ "$(git hash-object --no-filters patch)" = "$3" ] || fail no_part "$3"
  apply_patch "$1" patch
  find "$place/work" -type f -name 'patch.*' -mmin +1440 -exec rm -f {} +
  forget_parts "$3"
  [ "$applied" = "$2" ] || fail other_tree "$applied"
}
