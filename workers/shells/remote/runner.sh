# The remote job: a shell that stays on a host and runs one command after another.
#
# /bin/sh (dash, bash, busybox) reads it from standard input, after a line that sets N, the nonce of
# the frames, M, that of the records, and R, the folder of all records. Beside a shell it needs
# /proc, and mkdir, ls, dd, tail, head, cat, grep, find, sleep, rm, readlink, id. What the driver
# sends afterwards are calls of the functions with one letter; each ends with a "." so that one that
# was cut off does nothing. The runner ends when its input ends, but never within a command.
#
# The records of a pass are files whose names begin alike, with its stem; many passes share a folder,
# for a folder of its own is a program that is started for each pass (what belongs to no pass is in
# looks):
#   S.log       what was started and how it ended, appended before and after each command
#   S.o.N S.e.N output and errors; a pair serves one command after another until one writes something
#   S.stop      made by whoever takes over: nothing further is started here
#   S.why.K     made by whoever ends command K before its time; it says why
#   S.end.K.C   command K ended with C, where the log could not be written any more
# Lines of the log that begin with @@M are records; what stands before a start is the command.
say() { printf '%s@@%s %s\n' "$held" "$N" "$*" && held= || exit 0; }
note() { printf '@@%s %s\n' "$M" "$*" 2>/dev/null >&3; }
uptime() { read -r now _ </proc/uptime; now=${now%.*}; }
stat_of() { # pid: sets line to what /proc says after the name
  { read -r line </proc/"$1"/stat; } 2>/dev/null || return 1
  name=${line%)*} line=${line##*) }
}
began() { # pid: sets at to its start, in ticks after boot; fails when it is over
  stat_of "$1" || return 1
  set -- $line
  at=${20}
  [ "$1" != Z ] && [ "$1" != X ]
}
lives() { # pid start boot namespace
  [ "$3" = "$boot" ] && [ "$4" = "$space" ] && began "$1" && [ "$at" = "$2" ]
}
usable() { # folder: ours alone and no link; made where it does not exist
  [ -d "$1" ] || mkdir -p -m 700 "$1" 2>/dev/null
  [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ] || return 1
  set -- "$1" $(ls -ldn "$1")
  uid=$4
  case $2 in drwx------*) ;; *) chmod 700 "$1" 2>/dev/null ;; esac
}

newline='
'
hello() {
  P=$$ A= G= greps= D= S= Z= held= n=1 now=0 at=0 uid= boot=- space=- last=x
  [ -r /proc/self/stat ] && [ -r /proc/uptime ] || { say bad proc; exit 0; }
  stat_of "$P"
  set -- $line
  F=${20}
  [ "$4" = "$P" ] || { say bad session; exit 0; }
  read -r boot </proc/sys/kernel/random/boot_id
  space=$(readlink /proc/self/ns/pid) || space=-
  uptime
  usable "$R" || R=
  [ "$uid" ] || uid=$(id -u)
  S=/dev/shm/replan-$uid
  command -v setsid >/dev/null 2>&1 && Z=s
  trap : HUP INT QUIT TERM ALRM USR1 USR2 PIPE
  say hello "$P" "$F" "$boot" "$space" "$now"
}

o() { # stem workdir . : under it are the records of what follows
  last=x
  [ "$3" = . ] || return
  case $2 in
  "") W= ;;
  "~") W=$HOME ;;
  "~/"*) W=$HOME/${2#"~/"} ;;
  /*) W=$2 ;;
  *) W=$HOME/$2 ;;
  esac
  [ "$R" ] && enter "$R" "$1" || { usable "$S" && enter "$S" "$1"; } || { say shut; return; }
  last=0
  for d in ${R:+"$R/${1%.*.*}".*.log} "$S/${1%.*.*}".*.log; do
    [ "$d" = "$D.log" ] || [ ! -e "$d" ] || { last=x && say other "${d%.log}"; }
  done
  say open "$G" "$D"
}
enter() { # root stem
  [ -d "$1/${2%/*}" ] || folders "$1" "${2%/*}"
  n=1
  command exec 3>>"$1/$2.log" 2>/dev/null || return 1
  [ "$G" ] && [ "$A" = "$1/.at.$P" ] || { [ -z "$G" ] || kill -9 "$G"; A=$1/.at.$P; watch & G=$!; }
  note i "$P" "$F" "$boot" "$space" "$G" && fresh "$1/$2" && echo "$1/$2" >"$A" || return 1
  D=$1/$2
}
folders() { # root folder: make it, and with it those that other passes will ask for
  set -- "$1" "$2" 0 1 2 3 4 5 6 7 8 9 a b c d e f
  (
    cd "$1" || exit
    root=$2 all=
    shift 2
    for a; do for b; do all="$all $a$b"; done; done
    mkdir -p -m 700 "$root" $all
  ) 2>/dev/null
}
fresh() { command exec 4>>"$1.o.$n" 5>>"$1.e.$n"; }

a() { # wish, and as for r: run a command if the last ended as wished
  [ "$9" = . ] || return
  # What was killed or not found has not said no.
  case $1$last in
  y0 | n[1-9] | n[1-9][0-9] | n1[01][0-9] | n12[0-5]) shift && r "$@" ;;
  *) last=x && say skip "$2" ;;
  esac
}
r() { # key not-after span flags label command variables . : run a command
  last=x
  [ "$8" = . ] || return
  uptime
  [ "$now" -lt "$2" ] || { say late "$1"; return; }
  printf '%s\n%s\n@@%s s %s %s %s %s\n' "$5" "$6" "$M" "$1" "$n" "$((now + $3))" "$4" \
    2>/dev/null >&3 || { say full "$1"; return; }
  # In this order: whoever takes over makes `stop` and then reads the log.
  [ ! -e "$D.stop" ] || { note x "$1"; say over "$1"; exit 0; }
  [ -z "$W" ] || cd -- "$W" 2>/dev/null || { note x "$1"; say nodir "$1"; return; }
  case $4 in *q*)
    eval "$6" 2>/dev/null
    last=$?
    # What such a question has to say beside yes and no, it says as it would alone.
    [ "$last" -gt 1 ] || { answer "$1" "$4"; return; }
    ;;
  esac
  [ -z "$held" ] || { printf %s "$held" && held= || exit 0; }
  # In a subshell, so that what this shell says of a killed command is not part of its errors.
  (
    eval "$7"
    export REPLAN_ATTEMPT="$D/$1"
    exec </dev/null >&4 2>&5 3>&- 4>&- 5>&-
    case $4$Z in *s*s) exec setsid /bin/sh -c "$6" sh ;; esac
    exec /bin/sh -c "$6" sh
  )
  last=$?
  set -- "$1" "$last" "$4"
  note e "$1" "$2" || : >"$D.end.$1.$2"
  [ -e "$D.o.$n.cut" ] || [ -e "$D.e.$n.cut" ] && set -- "$@" cut
  if [ "$4" ] || [ -s "$D.o.$n" ] || [ -s "$D.e.$n" ]; then
    say E "$1" "$2" "$n" "$4"
    [ ! -s "$D.o.$n" ] || dd if="$D.o.$n" bs=16384 count=1 2>/dev/null
    say .
    [ ! -s "$D.e.$n" ] || dd if="$D.e.$n" bs=16384 count=1 2>/dev/null
    say .
  else
    say e "$1" "$2"
    case $3 in *b*) ;; *) return ;; esac
  fi
  n=$((n + 1))
  fresh "$D"
}

answer() { # key flags: to a question; held back where the next answer comes at once
  note e "$1" "$last" || : >"$D.end.$1.$last"
  case $2 in
  *h*) held="$held@@$N e $1 $last$newline" ;;
  *) say e "$1" "$last" ;;
  esac
}

h() { # file . : its size
  [ "$2" = . ] && say h "$(size_of "$1")"
}
g() { # file block . : a block of a file, of 32768 bytes
  [ "$3" = . ] || return
  say d
  dd if="$1" bs=32768 skip="$2" count=1 2>/dev/null
  say .
}
t() { # stem . : the log of a pass and what follows its stem in the names of its files
  [ "$2" = . ] || return
  say d
  cat "$1.log" 2>/dev/null
  say .
  all=
  for d in "$1".*; do [ ! -e "$d" ] || all="$all ${d#"$1".}"; done
  say names $all
}
s() { # stem . : nothing further is started there
  [ "$2" = . ] || return
  { : >"$1.stop"; } 2>/dev/null
  [ -e "$1.stop" ] && say stopped || say unstopped
}
x() { # pass . : nobody needs any more what its commands wrote
  [ "$2" = . ] || return
  rm -f ${R:+"$R/$1".*.[oe].*} "$S/$1".*.[oe].*
  say erased
}
q() { # pid start boot namespace . : end an idle runner
  [ "$5" = . ] || return
  lives "$1" "$2" "$3" "$4" && kill -9 "$1" 2>/dev/null
  say quit
}

w() { # stem key out-bytes err-bytes pid start boot namespace . : follow until it ends
  [ "$9" = . ] || return
  V=$1 K=$2 m= a=$3 b=$4
  shift 4
  while :; do
    set -- "$1" "$2" "$3" "$4" $(tail -n 1 "$V.log")
    over= more=
    [ "$6" = s ] && [ "$7" = "$K" ] && m=$8 || over=ended
    set -- "$1" "$2" "$3" "$4"
    [ "$over" ] || lives "$@" || over=gone
    [ "$m" ] && ship o "$a" && a=$size more=1
    [ "$m" ] && ship e "$b" && b=$size more=1
    [ -z "$more" ] || continue
    [ -z "$over" ] || { say "$over" "$a" "$b"; return; }
    sleep 0.1 || sleep 1
  done
}
ship() { # stream bytes-so-far: what is new of it; sets size
  size=$(size_of "$V.$1.$m")
  [ "$size" -ge "$2" ] || set -- "$1" 0
  [ "$size" -gt "$2" ] || return 1
  [ "$((size - $2))" -le 32768 ] || size=$(($2 + 32768))
  say "$1" "$2"
  tail -c +"$(($2 + 1))" "$V.$1.$m" | head -c "$((size - $2))"
  say .
}
size_of() { set -- $(ls -ln "$1" 2>/dev/null) && echo "${5:-0}"; }

p() { # stem key pid start dog . : what is left of a command
  [ "$6" = . ] || return
  aim "$1/$2" "$3" "$4" "$5"
  find_left
  say left "$names"
}
k() { # stem key why grace pid start dog . : end a command and all that it started
  [ "$8" = . ] || return
  { : >"$1.why.$2.$3"; } 2>/dev/null
  finish "$1/$2" "$4" "$5" "$6" "$7"
  say k "$how" "$names"
}
aim() { # cookie pid start dog: at a command of a runner
  cookie=$1 runner=$2 from=$3 dog=$4 tracked=' '
}
finish() { # cookie grace pid start dog: sets how and names; the grace in seconds
  aim "$1" "$3" "$4" "$5"
  grace=$2 how=
  find_left || return 0
  how=TERM
  send TERM
  send CONT
  await_end "$grace" '' && return
  how=KILL
  await_end 5 KILL || how=LEFT
}
tracks() { case $tracked in *" $1 "*) return 0 ;; esac; return 1; }
belongs() { # pid, and the fields of its stat: whether the command started it
  tracks "$1" || tracks "$3" && return
  [ "$3" = "$runner" ] && [ "$1" != "$dog" ] && return
  case $marked in *"/$1/"*) return 0 ;; esac
  # What belongs to another account and has lost its parent can only be told by its session.
  [ "$5" = "$runner" ] && [ "$3" = 1 ] && [ "${21}" -ge "$from" ] && [ ! -r "/proc/$1/environ" ]
}
scan() {
  left= grown= IFS=$newline
  for line in $stats; do
    unset IFS
    pid=${line%% *} name=${line%)*}
    set -- "$pid" ${line##*) }
    belongs "$@" || continue
    tracks "$pid" || { tracked="$tracked$pid " grown=1; }
    case $2 in Z | X) ;; *) left="$left $pid" names="$names $pid(${name#*(})" ;; esac
  done
  unset IFS
}
mark() { # sets marked to the processes that have this in their environment
  [ "$greps" ] || { LOOK=1 grep -q -F LOOK=1 /proc/self/environ && greps=1 || greps=0; }
  if [ "$greps" = 1 ]; then
    marked=$(grep -l -F "$1" /proc/[0-9]*/environ 2>/dev/null)
    return
  fi
  # A grep that ends a line at a NUL sees the first variable alone.
  marked= IFS=$newline
  for line in $stats; do
    unset IFS
    pid=${line%% *}
    set -- "$1" ${line##*) }
    [ "${21}" -ge "$from" ] && [ -O "/proc/$pid" ] || continue
    { tr '\0' '\n' </proc/"$pid"/environ; } 2>/dev/null | grep -q -F "$1" && marked="$marked/$pid/"
  done
  unset IFS
}
find_left() {
  grown=1
  # All of it at once: a shell reads a file of /proc byte by byte.
  stats=$(cat /proc/[0-9]*/stat 2>/dev/null)
  mark "REPLAN_ATTEMPT=$cookie"
  while [ "$grown" ]; do names= && scan; done
  [ "$left" ]
}
send() {
  kill "-$1" $left 2>/dev/null || [ "$uid" = 0 ] || sudo -n kill "-$1" $left 2>/dev/null
}
await_end() { # seconds signal
  uptime
  give_up=$((now + $1 + 1))
  while find_left; do
    uptime
    [ "$now" -lt "$give_up" ] || return 1
    [ -z "$2" ] || send "$2"
    sleep 0.1 || sleep 1
  done
}

# Beside the runner: caps output, ends what takes too long, and outlives the runner as long as one
# of its commands runs, or something that a command has left writes to a file of its output.
watch() {
  trap '' HUP INT QUIT TERM ALRM USR1 USR2 PIPE
  exec </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&-
  stat_of self
  me=${name%% *} V= kept= passed= beat=0 idle=0 over= busy=
  sweep "${A%/.at.*}"
  while :; do
    sleep "${tick:-0.2}" || sleep 1 || exit
    tick= new=$V beat=$((beat + 1))
    lives "$P" "$F" "$boot" "$space" || over=1
    # Somebody may have removed it with all that it tells of.
    [ ! -e "$A" ] || read -r new <"$A" || new=
    [ "$new" = "$V" ] || { passed="$passed $V" V=$new; }
    if [ "$V" ]; then look; else busy=; fi
    if [ "$busy" ]; then idle=0; else idle=$((idle + 1)); fi
    [ "$idle" -lt 25 ] || tick=1
    for old in $kept; do trim "$old"; done
    [ $((beat % 25)) != 0 ] || settle
    [ "$over" ] && [ -z "$busy" ] || continue
    passed="$passed $V" V=
    true >"$A"
    settle
    [ "$kept" ] || { rm -f "$A"; exit; }
  done
}
sweep() { # root: once an hour, of runs that are two days old and have no runner that lives, all
  [ -z "$(find "$1/.swept" -mmin -60 2>/dev/null)" ] || return
  : >"$1/.swept"
  for old in $(find "$1" -mindepth 1 -maxdepth 1 -name '.at.*' -mtime +1); do
    [ -d "/proc/${old##*.}" ] || rm -f "$old"
  done
  for old in $(find "$1" -mindepth 2 -name '*.log' -mtime +1); do
    # A young log of the same run may be that of who is about to read this one.
    run=${old##*/} run=${run%.log}
    for log in "${old%/*}/${run%%-*}"*.log; do
      [ -z "$(find "$log" ! -mtime +1)" ] || continue 2
      read -r line <"$log" && set -- $line && lives "$3" "$4" "$5" "$6" && continue 2
    done
    rm -f "${old%.log}".*
  done
}
long() { # whether a file of output may be too long; most times two numbers tell that
  [ $((beat % 25)) != 0 ] || return 0
  for fd in 4 5; do
    { read -r name at <"/proc/$P/fdinfo/$fd"; } 2>/dev/null || return 0
    [ "$at" -le 1048576 ] || return 0
  done
  return 1
}
look() { # at what the runner is doing
  ! long || trim "$V"
  [ "$over" ] || [ $((beat % 5)) = 0 ] || return
  busy=
  set -- $(tail -n 1 "$V.log")
  [ "$2" = s ] || return
  busy=1
  uptime
  [ "$now" -lt "$5" ] || { : >"$V.why.$3.timeout"; finish "$V/$3" 2 "$P" "$F" "$me"; unhang "$@"; }
  [ "$over" ] || return
  aim "$V/$3" "$P" "$F" "$me"
  find_left || busy=
}
unhang() { # the record of a start: where it asks, and has no process to end, the runner hangs in it
  case $6 in
  *q*) [ "$how" ] || [ "$(tail -n 1 "$V.log")" != "$*" ] || kill -9 "$P" ;;
  esac
}
settle() { # passes that were left are kept in view while something writes to them
  set -- $kept $passed
  kept= passed=
  [ "$1" ] || return
  users=$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "${A%/.at.*}/")
  for old; do
    case $users in
    *"$old."*) kept="$kept $old" ;;
    *) [ "${old##*/looks/*}" ] || rm -f "$old".* ;;
    esac
  done
}
trim() { # stem: of every file that is too long its first and its last part are kept
  for file in $(find "${1%/*}" -name "${1##*/}.[oe].*" -size +2048); do
    tick=0.05 cut=0 size=$(size_of "$file")
    [ -e "$file.head" ] || dd if="$file" of="$file.head" bs=65536 count=8
    tail -c 262144 "$file" >"$file.last"
    : >"$file"
    read -r cut <"$file.cut"
    echo "$((cut + size))" >"$file.cut"
  done
}
