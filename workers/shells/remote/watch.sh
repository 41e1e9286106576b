# Watches a runner, and sweeps records that nobody needs; a part of the runner's text.

# Runs beside the runner: caps output, ends commands that take too long, and outlives the runner as
# long as one of its commands runs, or a process that a command left writes to an output file.
watch() {
  trap '' HUP INT QUIT TERM ALRM USR1 USR2 PIPE
  exec </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&-
  began self
  me=${name%% *} born=$at viewed_stem= kept= passed= beat=0 idle=0 over= busy= swept=
  while :; do
    sleep "${tick:-0.2}" || sleep 1 || exit
    tick= new=$viewed_stem beat=$((beat + 1))
    lives "$runner_pid" "$runner_start" "$boot" "$space" || over=1
    # Somebody may have removed it together with the records that it names.
    [ ! -e "$current_file" ] || read -r new <"$current_file" || new=
    [ "$new" = "$viewed_stem" ] || { passed="$passed $viewed_stem" viewed_stem=$new; }
    if [ "$viewed_stem" ]; then look; else busy=; fi
    # Not before the log of a pass is open: the log shows every sweep that the pass is running.
    case $viewed_stem in
    '' | */looks/*) ;;
    *) [ "$swept" ] || { swept=1; shrink "${current_file%/.at.*}"; sweep "${current_file%/.at.*}"; } ;;
    esac
    [ $((beat % 300)) != 0 ] || swept=
    if [ "$busy" ]; then idle=0; else idle=$((idle + 1)); fi
    [ "$idle" -lt 25 ] || tick=1
    for old in $kept; do trim "$old"; done
    [ $((beat % 25)) != 0 ] || settle
    [ "$over" ] && [ -z "$busy" ] || continue
    passed="$passed $viewed_stem" viewed_stem=
    true >"$current_file"
    settle
    [ "$kept" ] || { rm -f "$current_file" "${current_file%/.at.*}/.contain.$runner_pid".?; exit; }
  done
}
shrink() { # root: every few minutes, remove the oldest output that nobody needs beyond the cap
  [ -z "$(find "$1/.sized" -mmin -5 2>/dev/null)" ] || return
  : >"$1/.sized"
  set -- "$1" "$(size_below "$1")"
  [ "$2" -gt "$records_cap" ] || return
  # Well below the cap, so that this is seldom needed.
  excess=$(($2 - records_cap * 3 / 4))
  users=$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "$1/")
  for old in $(find "$1" -mindepth 2 -name '*.settled' -exec ls -tr {} +); do
    [ "$excess" -gt 0 ] || return
    run=${old%settled}
    # Something that a command left still writes there: who removed it would only hide it.
    case $users in *"$run"*) continue ;; esac
    # In this order: a driver that comes back removes the mark first, and then opens its files.
    set -- "$run"*.[oe].*
    [ -e "$old" ] || continue
    excess=$((excess - $(size_below "$@")))
    rm -f "$@" "$old"
  done
}
size_below() { # file...: print their size in kB
  set -- $(du -ck "$@" 2>/dev/null | tail -n 1)
  echo "${1:-0}"
}
sweep() { # root: once an hour, remove all records of runs that are two days old and not alive
  [ -z "$(find "$1/.swept" -mmin -60 2>/dev/null)" ] || return
  : >"$1/.swept"
  case $1 in */.replan/jobs) chmod go-rwx "${1%/jobs}" 2>/dev/null ;; esac # of older versions
  for old in $(find "$1" -mindepth 1 -maxdepth 1 -name '.at.*' -mtime +1); do
    [ -d "/proc/${old##*.}" ] || rm -f "$old"
  done
  for old in $(find "$1" -mindepth 2 -name '.claim.*' -mmin +60); do
    read -r line <"$old" && set -- $line && lives "$@" || rm -f "$old"
  done
  for old in $(find "${current_file%/.at.*}" -mindepth 2 -name '*.log' -mtime +1); do
    [ -e "$old" ] || continue
    run=${old##*/} run=${run%.log}
    case $run in *-*) run=${run%%-*}- ;; esac
    claim=${old%/*}/.claim.$run run=${old%/*}/$run
    # In this order: the driver of the run begins its own log first, and then looks for a claim.
    (set -C && echo "$me $born $boot $space" >"$claim") || continue
    abandoned && { rm -f "$run"* || for log in "$run"*; do rm -f "$log"; done; }
    rm -f "$claim"
  done
}
abandoned() { # check that no log of the run is young, and that none belongs to a live runner
  for log in "$run"*.log; do
    [ -z "$(find "$log" ! -mtime +1)" ] || return 1
    read -r line <"$log" && set -- $line && lives "$3" "$4" "$5" "$6" && return 1
  done
  return 0
}
long() { # check whether an output file may be too long; usually two numbers suffice
  [ $((beat % 25)) != 0 ] || return 0
  for fd in 4 5; do
    { read -r name at <"/proc/$runner_pid/fdinfo/$fd"; } 2>/dev/null || return 0
    [ "$at" -le 1048576 ] || return 0
  done
  return 1
}
look() { # check what the runner is doing
  ! long || trim "$viewed_stem"
  [ "$over" ] || [ $((beat % 5)) = 0 ] || return
  busy=
  set -- $(tail -n 1 "$viewed_stem.log")
  [ "$2" = s ] || return
  busy=1
  uptime
  [ "$now" -lt "$5" ] || {
    : >"$viewed_stem.why.$3.timeout"
    finish "$viewed_stem/$3" 2 "$runner_pid" "$runner_start" "$me"
    unhang "$@"
  }
  [ "$over" ] || return
  aim "$viewed_stem/$3" "$runner_pid" "$runner_start" "$me"
  find_left || busy=
}
unhang() { # record of a start: end the runner if it hangs in a question, without a process to end
  case $6 in
  *q*) [ "$how" ] || [ "$(tail -n 1 "$viewed_stem.log")" != "$*" ] || kill -9 "$runner_pid" ;;
  esac
}
settle() { # keep an eye on earlier passes while something writes to their files
  set -- $kept $passed
  kept= passed=
  [ "$1" ] || return
  users=$(ls -l /proc/[0-9]*/fd 2>/dev/null | grep -F "${current_file%/.at.*}/")
  for old; do
    case $users in
    *"$old."*) kept="$kept $old" ;;
    *) [ "${old##*/looks/*}" ] || rm -f "$old".* ;;
    esac
  done
}
trim() { # stem: keep the first and the last part of every file that is too long
  for file in $(find "${1%/*}" -name "${1##*/}.[oe].*" -size +2048); do
    tick=0.05 cut=0 size=$(size_of "$file")
    [ -e "$file.head" ] || dd if="$file" of="$file.head" bs=65536 count=8
    read -r cut <"$file.cut"
    # Whoever reads the file now reads it again once this is a number.
    cut=${cut%-} && echo "$cut-" >"$file.cut"
    middle=$(((size - 524288) / 65536 * 65536))
    # Takes the middle out at once: what is written meanwhile is not lost, as it may be otherwise.
    if [ ! -e "$file.last" ] && fallocate -c -o 0 -l "$middle" "$file"; then
      size=$middle
    else
      tail -c 524288 "$file" >"$file.last"
      : >"$file"
    fi
    echo "$((cut + size))" >"$file.cut"
  done
}
