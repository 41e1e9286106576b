# Gives ids to a namespace of users; a part of whatever makes one.
give_ids() { # pid proc uids gids: to root all that there are, to other accounts (uid) those
  if [ "$uid" = 0 ]; then
    for file in uid_map gid_map; do
      all=
      while read -r inside _ many; do all="$all$inside $inside $many$newline"; done <"$2/self/$file"
      printf %s "$all" >"$2/$1/$file" || return 1
    done
    return
  fi
  echo deny >"$2/$1/setgroups"
  echo "$3" >"$2/$1/uid_map" && echo "$4" >"$2/$1/gid_map"
} 2>/dev/null
