"""Programs in the containment of agents: hostile ones do nothing outside, honest ones work."""

import os
import shlex
import subprocess

import pytest

from shared.domain.containment import Networks
from tests.integration.agents.contained_hosts import CANARY, GIT, Host

CONNECT = """python3 -c '
import socket, sys
made = socket.socket(socket.AF_UNIX)
made.connect(sys.argv[1].replace("@", chr(0)))' """

WRITES = [
    "touch $ACCOUNT/new",
    "echo x >>$ACCOUNT/.bashrc",
    "echo evil >$ACCOUNT/src/app/.git/hooks/pre-commit",
    "rm -rf $ACCOUNT/src",
    "mv $ACCOUNT/src $ACCOUNT/gone",
    "ln -f $ACCOUNT/.bashrc hard; echo x >>hard",
    "ln -s $ACCOUNT/.bashrc soft; echo x >>soft",
    "chmod 777 $ACCOUNT $ACCOUNT/.bashrc; chown 1 $ACCOUNT/.bashrc",
    "touch -d 2001-01-01 $ACCOUNT/.bashrc",
    "echo x >$ROOT/places/app/ours.git/refs/replan/attempts/1",
    "rm -rf $ROOT/places/app/ours.git/objects $ROOT/places/other $ROOT/data",
    "touch /etc/replan-agent /usr/bin/replan-agent /var/lib/replan-agent",
    "echo x >/proc/sys/kernel/core_pattern",
    "echo h >/proc/sysrq-trigger",
    "echo 1 >/sys/kernel/mm/ksm/run; mkdir /sys/fs/cgroup/replan-agent",
    "mknod disk b 254 0; mknod memory c 1 1",
    "for each in /proc/self/fd/*; do case ${each##*/} in [012]) ;; *) echo x >$each ;; esac; done",
    "touch /proc/1/root$ACCOUNT/new /proc/1/cwd/../new",
    "hostname replan-agent; date -s 2001-01-01",
]
MOUNTS = [
    "mount -o remount,rw / && touch $ACCOUNT/new",
    "mount -o remount,rw,bind $ACCOUNT; touch $ACCOUNT/new",
    "umount -l $ACCOUNT/.ssh && cat $ACCOUNT/.ssh/*",
    "umount -a; cat $ACCOUNT/.ssh/* $ROOT/data/*",
    *(
        f"unshare -U -r -m -p -f sh -c '{nested}'"
        for nested in (
            "mount -o remount,rw,bind /; mount -o remount,rw /; touch $ACCOUNT/new",
            "umount -l $ACCOUNT/.ssh; umount -l $ROOT/data; cat $ACCOUNT/.ssh/* $ROOT/data/*",
            "mkdir m; mount --bind / m; touch m$ACCOUNT/new; cat m$ACCOUNT/.ssh/*",
            "mkdir m; mount --rbind / m; umount -l m$ACCOUNT/.ssh; cat m$ACCOUNT/.ssh/*",
            "mount -t proc proc /proc; echo x >/proc/sys/kernel/core_pattern",
        )
    ),
    "nsenter -t 1 -m -p touch $ACCOUNT/new",
    "chroot /proc/1/root touch $ACCOUNT/new",
    "pivot_root . . && touch $ACCOUNT/new",
]
SECRETS = [
    "cat $ACCOUNT/.ssh/id_ed25519 $ACCOUNT/.aws/credentials $ACCOUNT/.replan/jobs/ab/log",
    "cat $ROOT/data/gateway-key $ROOT/places/other/ours.git/HEAD",
    "cat $ROOT/places/other/work/at.2.2/other/file $ROOT/places/app/work/at.9.9/app/file",
    "cat $AGENT/../k2/session",
    "cat /proc/[0-9]*/environ /proc/$VICTIM/environ /proc/$VICTIM/task/*/environ",
    "cat /proc/1/root$ACCOUNT/.ssh/id_ed25519 /proc/$VICTIM/root$ACCOUNT/.ssh/id_ed25519",
    "grep -r canary- $ACCOUNT $ROOT /run /dev/shm /tmp",
    "tar c $ACCOUNT $ROOT | cat",
    "cp -r $ACCOUNT/.ssh copied; cat copied/*",
    "mv $ACCOUNT/.ssh moved; cat moved/*",
    "cat /etc/shadow | sed s/^/root-of-the-host:/",
    "unshare -U -r cat $ACCOUNT/.ssh/id_ed25519",
    "head -c 200000000 /dev/vda | grep -a -o canary-[0-9a-f]*",
    "cat /proc/kcore | head -c 100000000 | grep -a -o canary-[0-9a-f]*",
]
PROCESSES = [
    "kill -9 $VICTIM",
    "kill -9 $PARENT",
    "pkill -9 -P $PARENT; kill -9 -$VICTIM",
    "renice 19 $VICTIM; echo 1000 >/proc/$VICTIM/oom_score_adj",
    "gdb -p $VICTIM -batch; strace -p $VICTIM",
    "python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(16, $VICTIM, 0, 0))'",
    "prlimit --pid $VICTIM --nofile=1",
]
SERVICES = [
    f"{CONNECT} $ACCOUNT/service.sock",
    f"{CONNECT} /run/$NAME.sock",
    f"{CONNECT} /var/run/$NAME.sock",
    f"{CONNECT} /proc/1/root/run/$NAME.sock",
    "curl -sS --unix-socket $ACCOUNT/service.sock http://x/",
    "docker ps; systemctl stop ssh; systemd-run touch $ACCOUNT/new",
    "sudo -n touch $ACCOUNT/new; su -c 'touch $ACCOUNT/new'; pkexec touch $ACCOUNT/new",
    "cp /bin/sh own; chown root own; chmod 6755 own; ./own -p -c 'touch $ACCOUNT/new'",
    "crontab -l; echo '* * * * * touch $ACCOUNT/new' | crontab -",
    "at now </dev/null",
]
NETWORK = [
    f"{CONNECT} @replan-$NAME",
    "curl -sS -m 5 http://127.0.0.1:$PORT/",
    "curl -sS -m 5 http://localhost:$PORT/ http://[::1]:$PORT/",
    "ip link add replan0 type dummy; ip addr add 10.9.9.9/24 dev lo",
    "nsenter -t $VICTIM -n curl -sS -m 5 http://127.0.0.1:$PORT/",
    "unshare -U -r -n curl -sS -m 5 http://127.0.0.1:$PORT/",
]


@pytest.mark.parametrize("networks", Networks)
def test_a_hostile_agent_does_nothing_outside(host: Host, networks: Networks) -> None:
    """It writes nothing, reads no secret, reaches no process, no service and no other network."""
    texts = [*WRITES, *MOUNTS, *SECRETS, *PROCESSES, *SERVICES]
    texts += NETWORK if networks is Networks.GATEWAY else []
    names = {
        "ACCOUNT": host.home,
        "ROOT": host.root,
        "AGENT": host.agents_home,
        "NAME": host.root.name,
        "VICTIM": host.process.pid,
        "PARENT": os.getpid(),
        "PORT": host.port,
    }
    given = "\n".join(f"export {name}={value}" for name, value in names.items())
    each = "\n".join(f"( {text}\n) </dev/null 2>&1" for text in texts)
    before = host.state()
    done = host.run(f"{given}\n{each}\necho tried all", networks)
    assert done.stdout.endswith("tried all\n"), (done.stdout[-2000:], done.stderr)
    assert host.state() == before
    assert host.arrived == []
    assert CANARY not in done.stdout + done.stderr
    assert "root-of-the-host:root" not in done.stdout


def test_an_agent_that_ends_everything_ends_itself_alone(host: Host) -> None:
    """With all that it had started."""
    before = host.state()
    done = host.run("sleep 1000 & kill -9 -1; wait $!; echo $?")
    assert (done.returncode, done.stdout) == (0, "137\n")
    assert host.state() == before


HONEST = [
    "echo new >app.py && git add -A && git commit -qm work",
    "cat .env.test && cat $AGENT/temporary/task.md",
    "mkdir -p $HOME/.cache/tool $HOME/.npm && echo x >$HOME/.cache/tool/x",
    "echo x >/tmp/x && mkdir /tmp/y && echo x >/var/tmp/z && echo x >/dev/shm/x",
    "test -x app.sh || printf '#!/bin/sh\\nexit 0\\n' >app.sh; chmod +x app.sh; ./app.sh",
    "mkfifo pipe; echo x >pipe & cat pipe",
    "python3 -c 'import pty; pty.openpty()'",
    "python3 -c 'import multiprocessing as m; m.Pool(2).map(abs, [1, 2])'",
    "python3 -m venv --without-pip venv && venv/bin/python -c 'import ssl'",
    'python3 -c \'import socket; a = socket.create_server(("127.0.0.1", 0)); '
    "socket.create_connection(a.getsockname())'",
    "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"own.sock\")'",
    "test $(ps -o comm= -p $$) = sh && test -r /proc/self/status && kill -0 $$",
    "cat /etc/passwd /usr/share/common-licenses/GPL-3 >/dev/null",
    "head -c 10 /dev/urandom >/dev/null && echo x >/dev/null && test -c /dev/zero",
    "sleep 100 & kill $! && ! wait $!",
    "unshare -U -r -m -p -f mount -t tmpfs none /mnt",
    "cat $ROOT/places/app/ours.git/objects/info/packs",
    "cat $ROOT/account/src/app/app.py",
]


@pytest.mark.parametrize("networks", Networks)
def test_an_honest_agent_works(host: Host, networks: Networks) -> None:
    """What it leaves in its workspace and its home is there afterwards, and is the account's."""
    given = f"export HOME={host.agents_home} ROOT={host.root} AGENT={host.agents_home}"
    config = "git config user.name a; git config user.email a@example.com"
    tried = "\n".join(f"( {text}\n) >&2 || echo {shlex.quote(text)}" for text in HONEST)
    done = host.run(f"{given}\n{config}\n{tried}\nexit 7", networks)
    assert (done.stdout, done.returncode) == ("", 7), done.stderr
    told = subprocess.run(
        [*GIT, "-c", "safe.directory=*", "log", "-1", "--format=%s"],
        cwd=host.workspace,
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout == "work\n"
    assert (host.workspace / "app.py").stat().st_uid == host.uid
    assert (host.agents_home / ".cache/tool/x").exists()
    assert not (host.agents_home.parent / "k1.contained").exists()
