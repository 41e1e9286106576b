"""What an entry of `forbidden_commands` forbids, and which entries are refused (S0.16)."""

import pytest

from shared.domain.errors import Misconfigured
from shared.domain.verdict import VerdictKind
from shared.guard import Guard, default_forbidden, only_forbidden

FORBIDS = [
    ("rm -rf /", ["rm -rf /", "rm -r -f /", "rm -fr //", "rm --force --recursive /.", "rm -Rf /*"]),
    ("rm -rf /", ["rm / -rf", "rm -rfv a / b", "rm -rf -- /", "/usr/bin/rm -rf /", "rm -r --fo /"]),
    (
        "rm -rf /data/*",
        ["rm -rf /data/a/b", "rm -rf /data", "rm -rf /data/*", "cd /data; rm -rf a"],
    ),
    ("rm -rf ~", ['rm -rf "$HOME"', "rm -rf ~/", "cd && rm -rf ."]),
    ("rm -rf .", ["rm -rf .", "rm -rf *", "rm -rf a/.."]),
    ("mkfs", ["mkfs /dev/x", "mkfs.ext4 /dev/x", "mkfs.xfs"]),
    ("/sbin/shutdown", ["shutdown -h now", "/usr/sbin/shutdown"]),
    ("dd of=/dev/*", ["dd of=/dev/sda", "dd if=a of=/dev/disk/by-id/b", "dd of=/dev/../dev/sda"]),
    (
        "> /etc/motd",
        ["echo a > /etc/motd", "tee /etc/motd", "cp a /etc/motd", "sed -i s/a/b/ /etc/motd"],
    ),
    (
        "> /etc/motd",
        [
            "sed -Ei /a/d /etc/motd",
            "sed -i -e /a/d x /etc/motd",
            "sed -i -l 5 p x /etc/motd",
            "sed -i $x /etc/motd",
            "sed -ni -f s /etc/motd",
            "sed -i --expr=p /etc/motd",
        ],
    ),
    ("git push --force", ["git push --force", "git -C a push -f origin main", "git push --for"]),
    (
        "kubectl delete ns prod",
        ["kubectl -n a delete ns prod", "kubectl delete --now ns prod"],
    ),
    ("systemctl stop ssh*", ["systemctl stop sshd", "systemctl --now stop ssh.service"]),
    ("find / -delete", ["find / -delete", "find / -name x -delete", "cd /; find . / -delete"]),
    ("chmod -R 777 /srv", ["chmod -R a+rwx /srv", "chmod --recursive 0777 /srv/"]),
    ("curl | sh", ["curl a | sh", "curl a | bash -s", 'eval "$(curl a)"', "curl a | tee b | sh"]),
    ("base64 | sh", ["base64 -d a | sh", "echo a | base64 -d | sudo bash"]),
    ("* --dangerous", ["anything --dangerous", "a b c --dangerous"]),
    ("echo 'a b'", ["echo 'a b'", "echo a\\ b"]),
]
ALLOWS = [
    (
        "rm -rf /",
        ["rm -r /", "rm -f /", "rm -rf /data", "rm -rf ./", "echo rm -rf /", "rm -- -rf /"],
    ),
    ("rm -rf /data/*", ["rm -rf /database", "rm -rf data/a"]),
    ("mkfs", ["./mkfs.sh", "mkfsx", "cat mkfs"]),
    ("dd of=/dev/*", ["dd if=/dev/sda of=a", "dd of=./dev/sda"]),
    ("> /etc/motd", ["cat /etc/motd", "echo a > etc/motd", "cp /etc/motd a"]),
    ("> /a/d", ["sed -i /a/d x", "sed -i -e /a/d x", "sed -n -i --expression=/a/d x"]),
    (
        "git push --force",
        ["git push", "git commit -m 'push --force'", "git stash push -m --force-x"],
    ),
    ("kubectl delete ns prod", ["kubectl get ns prod", "kubectl delete pod ns prod"]),
    ("systemctl stop ssh*", ["systemctl status ssh", "systemctl restart ssh"]),
    ("find / -delete", ["find . -delete", "find / -newer a -depth -ls -empty"]),
    ("curl | sh", ["curl a | jq .", "curl a; sh b", "curl a | sh -c 'cat'"]),
]
REFUSED = [
    "", "   ", "\n", "rm -rf /\nreboot", "a; b", "a && b", "a | b | c", "(a)", "a &", "x=1 a",
    "x=1",
    "rm -rf $HOME", "rm `a`", "rm $(a)", "'a", "*", "**", "/", "a > b", "> a b", "< a", "if", "a\0",
    "r\u200bm", "x" * 1001, "#", ">", "|", "| a", "a |",
]  # fmt: skip


@pytest.mark.parametrize(("entry", "commands"), FORBIDS)
def test_an_entry_forbids_all_spellings_of_what_it_says(entry: str, commands: list[str]) -> None:
    """Flags in any order and spelling, paths in any form, the program by any path."""
    guard = Guard(only_forbidden([entry]))
    verdicts = {command: guard.judge(command) for command in commands}
    assert {c: v for c, v in verdicts.items() if not v.denied} == {}
    assert {verdict.rule for verdict in verdicts.values()} == {entry}


@pytest.mark.parametrize(("entry", "commands"), ALLOWS)
def test_an_entry_forbids_nothing_else(entry: str, commands: list[str]) -> None:
    """All that the entry says must be there."""
    guard = Guard(only_forbidden([entry]))
    assert [command for command in commands if not guard.judge(command).allowed] == []


@pytest.mark.parametrize("entry", REFUSED, ids=repr)
def test_a_bad_entry_is_refused_by_name(entry: str) -> None:
    """With what is wrong and what to do, before anything is judged."""
    with pytest.raises(Misconfigured) as refused:
        Guard(only_forbidden(["reboot", entry]))
    assert repr(entry) in refused.value.reason
    assert refused.value.next_step


@pytest.mark.parametrize("forbidden", default_forbidden(), ids=lambda forbidden: forbidden.entry)
def test_each_default_entry_has_a_reason_and_hits_by_itself(forbidden: object) -> None:
    """A command that is what the entry says is denied by it, and by nothing in its place."""
    entry: str = getattr(forbidden, "entry", "")
    reason: str = getattr(forbidden, "reason", "")
    assert len(reason) > 15
    command = entry.replace("*", "x")
    if entry.startswith("> "):
        command = f"echo a {command}"
    if entry.startswith("sql "):
        command = f"psql -c '{entry.removeprefix('sql ')} a'"
    verdict = Guard(only_forbidden([entry])).judge(command, "bash")
    assert (verdict.kind, verdict.rule) == (VerdictKind.DENY, entry)


def test_an_unknown_part_makes_an_entry_a_question() -> None:
    """What may turn out to be forbidden is neither allowed nor denied (X17)."""
    guard = Guard(only_forbidden(["rm -rf /"]))
    verdict = guard.judge('rm -rf "$target"')
    assert verdict.kind is VerdictKind.APPROVE
    assert verdict.rule == "rm -rf /"
    assert "may turn out" in verdict.reason


def test_one_unknown_word_is_not_two_things_at_once() -> None:
    """A quoted variable can be the flag or the operand that is missing, not both."""
    guard = Guard(only_forbidden(["rm -r /"]))
    assert guard.judge('rm -f "$file"').allowed
    assert not guard.judge("rm -f $files").allowed
    assert not guard.judge('rm "$option" /').allowed


def test_without_entries_only_what_cannot_be_decided_is_stopped() -> None:
    """An empty list forbids nothing."""
    guard = Guard(only_forbidden([]))
    assert guard.judge("rm -rf /").allowed
    assert guard.judge("$x").kind is VerdictKind.APPROVE
