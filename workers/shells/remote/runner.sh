# The runner: a shell that stays on a host and runs one command after another.
#
# /bin/sh (dash, bash, busybox) reads it from standard input, after a line that sets frame_nonce,
# record_nonce, home_root (the folder of all records) and records_cap (their size in kB). Besides a
# shell it needs /proc, and mkdir, ls, dd, du, tail, head, cat, grep, find, sleep, rm, readlink, id.
# After that, the driver sends calls of the functions in short_names.py; each call ends with a ".",
# so an incomplete call does nothing. The runner ends when its input ends, but never during a
# command. Its text is sent without comments, with the short names of that table.
#
# The records of a pass are files whose names begin with its stem. Many passes share a folder,
# because a folder for each pass would cost a new process each time (what belongs to no pass is in
# looks):
#   S.log       the starts and ends of commands, appended before and after each command
#   S.o.N S.e.N output and errors; commands share a pair until one of them writes something
#   F.head F.last F.cut  of a long output file F: its first part, the part before F as it is now, and
#               how many bytes F has lost, with a - while it loses more
#   S.stop      written by a driver that takes over: nothing more starts here
#   S.why.K     written by whoever ends command K early; it says why
#   S.end.K.C   command K ended with C when the log was no longer writable
# and beside them:
#   PASS.settled  the results of the pass are recorded elsewhere: its output may be removed
#   .claim.RUN-   while it is undecided whether the records of a run are removed
# Lines of the log that begin with @@M are records; the text before the record of a start is the
# command.
say() { printf '%s@@%s %s\n' "$held" "$frame_nonce" "$*" && held= || exit 0; }
note() { printf '@@%s %s\n' "$record_nonce" "$*" 2>/dev/null >&3; }
uptime() { read -r now _ </proc/uptime; now=${now%.*}; }
stat_of() { # pid: set line to the text after the name in /proc
  { read -r line </proc/"$1"/stat; } 2>/dev/null || return 1
  name=${line%)*} line=${line##*) }
}
began() { # pid: set at to its start, in ticks after boot; fail if it is over
  stat_of "$1" || return 1
  set -- $line
  at=${20}
  [ "$1" != Z ] && [ "$1" != X ]
}
lives() { # pid start boot namespace: check whether the process lives
  [ "$3" = "$boot" ] && [ "$4" = "$space" ] && began "$1" && [ "$at" = "$2" ]
}
usable() { # folder: check that it is ours alone and not a link; make it if it does not exist
  [ -d "$1" ] || (umask 077 && mkdir -p "$1") 2>/dev/null
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return 1
  set -- "$1" $(ls -ldn "$1")
  uid=$4
  case $2 in drwx------*) ;; *) chmod 700 "$1" 2>/dev/null ;; esac
}

newline='
'
hello() {
  runner_pid=$$ current_file= watch_pid= greps= open_stem= memory_root= has_setsid= held=
  pair_number=1 now=0 at=0 newest_at= uid= boot=- space=- last=x look_pid= changed=
  [ -r /proc/self/stat ] && [ -r /proc/uptime ] || { say bad proc; exit 0; }
  stat_of "$runner_pid"
  set -- $line
  runner_start=${20}
  [ "$4" = "$runner_pid" ] || { say bad session; exit 0; }
  read -r boot </proc/sys/kernel/random/boot_id
  space=$(readlink /proc/self/ns/pid) || space=-
  uptime
  usable "$home_root" || home_root=
  [ "$uid" ] || uid=$(id -u)
  memory_root=/dev/shm/replan-$uid
  command -v setsid >/dev/null 2>&1 && has_setsid=s
  trap : HUP INT QUIT TERM ALRM USR1 USR2 PIPE
  first_folder=$PWD
  say hello "$runner_pid" "$runner_start" "$boot" "$space" "$now"
}

open_records() { # stem workdir . : open the records of the commands that follow
  last=x changed=pass
  [ "$3" = . ] || return
  case $2 in
  "") work_folder= ;;
  "~") work_folder=$HOME ;;
  "~/"*) work_folder=$HOME/${2#"~/"} ;;
  /*) work_folder=$2 ;;
  *) work_folder=$HOME/$2 ;;
  esac
  [ "$home_root" ] && enter "$home_root" "$1" ||
    { usable "$memory_root" && enter "$memory_root" "$1"; } ||
    { say shut; return; }
  unclaimed "$1" || { say busy; return; }
  last=0 step_name=${1%.*.*} step_name=${step_name%-*-*}
  for other_log in ${home_root:+"$home_root/$step_name"[-.]*.log} \
    "$memory_root/$step_name"[-.]*.log; do
    [ "$other_log" != "$open_stem.log" ] && [ -e "$other_log" ] || continue
    last=x && say other "${other_log%.log}"
  done
  say open "$watch_pid" "$open_stem"
}
enter() { # root stem: open the log and the watch
  [ -d "$1/${2%/*}" ] || folders "$1" "${2%/*}"
  pair_number=1
  command exec 3>>"$1/$2.log" 2>/dev/null || return 1
  # Whoever said that all is recorded has lost it again, if the pass goes on.
  [ ! -e "$1/${2%.*.*}.settled" ] || rm -f "$1/${2%.*.*}.settled"
  [ "$watch_pid" ] && [ "$current_file" = "$1/.at.$runner_pid" ] || {
    [ -z "$watch_pid" ] || kill -9 "$watch_pid"
    current_file=$1/.at.$runner_pid
    watch &
    watch_pid=$!
  }
  note i "$runner_pid" "$runner_start" "$boot" "$space" "$watch_pid" && fresh "$1/$2" &&
    echo "$1/$2" >"$current_file" || return 1
  open_stem=$1/$2
}
unclaimed() { # stem: wait while somebody is about to remove the records of its run
  claim_name=${1##*/} claim_name=${1%/*}/.claim.${claim_name%%-*}-
  uptime
  give_up=$((now + 6))
  while claimed "$home_root/$claim_name" || claimed "$memory_root/$claim_name"; do
    uptime
    [ "$now" -lt "$give_up" ] || return 1
    sleep 0.1 || sleep 1
  done
}
claimed() { # file: check whether it exists and belongs to a process that seems to live
  [ -e "$1" ] || return
  read -r line 2>/dev/null <"$1" && set -- $line
  [ "$3" != "$boot" ] || [ "$4" != "$space" ] || lives "$@"
}
folders() { # root folder: make it, and the folders that other passes will need
  set -- "$1" "$2" 0 1 2 3 4 5 6 7 8 9 a b c d e f
  (
    cd "$1" || exit
    root=$2 all=
    shift 2
    for first_digit; do for second_digit; do all="$all $first_digit$second_digit"; done; done
    mkdir -p -m 700 "$root" $all
  ) 2>/dev/null
}
fresh() { command exec 4>>"$1.o.$pair_number" 5>>"$1.e.$pair_number"; }

run_if() { # wish, then as for run_command: run a command if the last one ended as wished
  [ "$9" = . ] || return
  # A command that was killed or not found has not said no.
  case $1$last in
  y0 | n[1-9] | n[1-9][0-9] | n1[01][0-9] | n12[0-5]) shift && run_command "$@" ;;
  *) last=x && say skip "$2" ;;
  esac
}
run_command() { # key not-after span flags label command variables . : run a command
  last=x
  [ "$8" = . ] || return
  uptime
  [ "$now" -lt "$2" ] || { say late "$1"; return; }
  printf '%s\n%s\n@@%s s %s %s %s %s %s\n' "$5" "$6" "$record_nonce" \
    "$1" "$pair_number" "$((now + $3))" "$4" "$now" 2>/dev/null >&3 || { say full "$1"; return; }
  # In this order: a driver that takes over makes `stop` first, and then reads the log.
  [ ! -e "$open_stem.stop" ] || { note x "$1"; say over "$1"; exit 0; }
  cd -- "${work_folder:-$first_folder}" 2>/dev/null || [ -z "$work_folder" ] ||
    { note x "$1"; say nodir "$1"; return; }
  case $4 in *q*)
    eval "$6" 2>/dev/null
    last=$?
    # Besides yes and no, such a question prints what it would print on its own.
    [ "$last" -gt 1 ] || { answer "$1" "$4"; return; }
    ;;
  *c*) ;;
  *w*) changed=all ;;
  *) changed=${changed:-1} ;;
  esac
  [ -z "$held" ] || { printf %s "$held" && held= || exit 0; }
  # What the last command of this second read is near enough: more is looked at, not less.
  [ "$now" = "$newest_at" ] && oldest=$newest || read -r _ _ _ _ oldest </proc/loadavg
  case $4 in
  *c*)
    why=uncontained
    if run_contained "$1" "$6" 2>/dev/null; then
      say_end "$1" "$last" "$4"
    else
      last=x
      note x "$1"
      say "$why" "$1"
    fi
    return
    ;;
  esac
  # In a subshell, so that this shell's message about a killed command stays out of its errors.
  (
    eval "$7"
    export REPLAN_ATTEMPT="$open_stem/$1"
    exec </dev/null >&4 2>&5 3>&- 4>&- 5>&-
    # A text that looks at command lines is not to find that of its own shell.
    case $6 in
    *pgrep* | *pkill* | *pidof* | *ps\ * | */proc/*)
      export replan_text="$6"
      set -- "$1" "$2" "$3" "$4" "$5" 'eval "unset replan_text; $replan_text"'
      ;;
    esac
    case $4$has_setsid in *s*s) exec setsid /bin/sh -c "$6" sh ;; esac
    exec /bin/sh -c "$6" sh
  )
  last=$?
  read -r later _ </proc/uptime
  [ "${later%.*}" -le "$((now + 1))" ] || changed=all
  say_end "$1" "$last" "$4"
}
say_end() { # key code flags: note the end of a command, and say it with its output
  note e "$1" "$2" || : >"$open_stem.end.$1.$2"
  stayed=
  case $1 in look*) ;; *) find_stayed "$open_stem/$1" ;; esac
  [ -z "$stayed" ] || note l "$1$stayed"
  [ -e "$open_stem.o.$pair_number.cut" ] || [ -e "$open_stem.e.$pair_number.cut" ] &&
    set -- "$@" cut
  if [ "$4" ] || [ -s "$open_stem.o.$pair_number" ] || [ -s "$open_stem.e.$pair_number" ]; then
    say E "$1" "$2" "$pair_number" "$4$stayed"
    [ ! -s "$open_stem.o.$pair_number" ] ||
      dd if="$open_stem.o.$pair_number" bs=16384 count=1 2>/dev/null
    say .
    [ ! -s "$open_stem.e.$pair_number" ] ||
      dd if="$open_stem.e.$pair_number" bs=16384 count=1 2>/dev/null
    say .
  else
    say e "$1" "$2$stayed"
    case $3$stayed in *b* | *' '*) ;; *) return ;; esac
  fi
  pair_number=$((pair_number + 1))
  fresh "$open_stem"
}

answer() { # key flags: answer a question; hold it back if the next answer comes at once
  note e "$1" "$last" || : >"$open_stem.end.$1.$last"
  case $2 in
  *h*) held="$held@@$frame_nonce e $1 $last$newline" ;;
  *) say e "$1" "$last" ;;
  esac
}

tell_size() { # file . : print its size
  [ "$2" = . ] && say h "$(size_of "$1")"
}
tell_block() { # file block . : print a block of 32768 bytes
  [ "$3" = . ] || return
  say d
  dd if="$1" bs=32768 skip="$2" count=1 2>/dev/null
  say .
}
tell_log() { # stem . : print the log of a pass, and the endings of the names of its files
  [ "$2" = . ] || return
  say d
  cat "$1.log" 2>/dev/null
  say .
  all=
  for beside in "$1".*; do [ ! -e "$beside" ] || all="$all ${beside#"$1".}"; done
  say names $all
}
stop_pass() { # stem . : let nothing more start there
  [ "$2" = . ] || return
  { : >"$1.stop"; } 2>/dev/null
  [ -e "$1.stop" ] && say stopped || say unstopped
}
erase_output() { # pass . : remove the output of its commands
  [ "$2" = . ] || return
  rm -f ${home_root:+"$home_root/$1".*.[oe].*} "$memory_root/$1".*.[oe].*
  say erased
}
settle_pass() { # path . : note that nobody will read the output of a pass any more
  [ "$2" != . ] || { true >"$1.settled"; } 2>/dev/null
}
quit_runner() { # pid start boot namespace stem . : end an idle runner that is still at that stem
  [ "$6" = . ] || return
  beside=
  read -r beside 2>/dev/null <"${5%/*/*}/.at.$1"
  [ "${beside:-$5}" = "$5" ] && lives "$1" "$2" "$3" "$4" && kill -9 "$1" 2>/dev/null
  say quit
}

follow_command() { # stem key out-bytes err-bytes pid start boot namespace . : follow until it ends
  [ "$9" = . ] || return
  viewed_stem=$1 followed_key=$2 followed_pair= out_bytes=$3 err_bytes=$4
  shift 4
  while :; do
    set -- "$1" "$2" "$3" "$4" $(tail -n 1 "$viewed_stem.log")
    over= more=
    [ "$6" = s ] && [ "$7" = "$followed_key" ] && followed_pair=$8 || over=ended
    set -- "$1" "$2" "$3" "$4"
    [ "$over" ] || lives "$@" || over=gone
    [ "$followed_pair" ] && ship o "$out_bytes" && out_bytes=$size more=1
    [ "$followed_pair" ] && ship e "$err_bytes" && err_bytes=$size more=1
    [ -z "$more" ] || continue
    [ -z "$over" ] || { say "$over" "$out_bytes" "$err_bytes"; return; }
    sleep 0.1 || sleep 1
  done
}
ship() { # stream bytes-so-far: print what is new; set size
  size=$(size_of "$viewed_stem.$1.$followed_pair")
  [ "$size" -ge "$2" ] || set -- "$1" 0
  [ "$size" -gt "$2" ] || return 1
  [ "$((size - $2))" -le 32768 ] || size=$(($2 + 32768))
  say "$1" "$2"
  tail -c +"$(($2 + 1))" "$viewed_stem.$1.$followed_pair" | head -c "$((size - $2))"
  say .
}
size_of() { set -- $(ls -ln "$1" 2>/dev/null) && echo "${5:-0}"; }
