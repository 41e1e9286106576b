# What the first process of a contained agent runs; ids.sh comes before it. 3 is a view of /proc that can
# be written, and shows the processes outside.
newline='
'
trap : HUP INT QUIT TERM
uid=$replan_uid view=/proc
if mount -t proc -o nosuid,nodev,noexec contained /proc; then
  # What is written there by a process of root counts, in whatever namespace it is.
  [ "$uid" != 0 ] || for each in sys sysrq-trigger irq bus fs acpi scsi; do
    [ ! -e "/proc/$each" ] || { mount --bind "/proc/$each" "/proc/$each" &&
      mount -o remount,bind,ro,nosuid,nodev,noexec "/proc/$each"; } || {
      echo no proc
      exit 125
    }
  done
else
  # In a container, the processes outside are seen, and nothing more.
  view=/proc/self/fd/3
fi
mkfifo -m 600 i o && exec 8<>i 9<>o && rm i o || {
  echo no tmpfs
  exit 125
}
{
  if read -r pid <&9 && give_ids "$pid" "$view" "$uid 0 1" "$replan_gid 0 1"; then
    echo ready
    echo go >&8
  else
    echo no ids
    echo stop >&8
  fi
} &
# shellcheck disable=SC2016 # the agent expands it
unshare -U /bin/sh -c '
  read -r pid _ </proc/self/stat
  echo "$pid" >&9
  read -r go <&8 && [ "$go" = go ] || exit 125
  exec 8>&- 9>&-
  exec /bin/sh -c "$replan_program" sh
' sh <&4 >&5 2>&6 3<&- 4<&- 5>&- 6>&-
exit "$?"
