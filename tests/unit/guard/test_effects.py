"""What a text does to a host: whether it stops or destroys something, or only adds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.guard.effects import destroys, effects
from shared.guard.programs.effects import Effect

HARMFUL = (
    "rm -f /srv/a/lock",
    "rmdir /srv/a",
    "truncate -s 0 /srv/p/one/data/current",
    ": > /srv/p/one/data/current",
    "echo ready > /srv/a/state",
    "mv /srv/a/new /srv/a/old",
    "cp /srv/a/x /srv/a/y",
    "ln -sf /srv/a/x /srv/a/y",
    "sed -i s/a/b/ /srv/a/conf",
    "tee /srv/a/conf",
    "dd if=/dev/zero of=/srv/a/x",
    "find /srv/a -name x -delete",
    "rsync -a --delete /srv/a/ /srv/b/",
    "tar -xzf /srv/a.tgz -C /srv",
    "systemctl stop legacy",
    "systemctl disable --now legacy",
    "systemctl mask legacy",
    "systemctl restart apache2",
    "service apache2 stop",
    "kill 4711",
    "pkill -f serve",
    "fuser -k 8080/tcp",
    "docker rm -f web",
    "docker stop web",
    "docker compose down",
    "apt-get remove -y nginx",
    "apt-get purge nginx",
    "apt-get install -y nginx-",
    "pip uninstall -y flask",
    "dpkg -P nginx",
    "git reset --hard",
    "git -C /srv/b checkout -f",
    "curl -so /srv/a/x http://a/",
    "curl -O http://a/x -o /dev/null",
    "wget -qO /srv/a/x http://a/",
    "git clean -fd",
    "git stash",
    "npm install --force",
    "./migrate.sh --force",
    "psql -c 'drop table x'",
    "psql -c 'delete from x'",
    "redis-cli FLUSHALL",
    "crontab -r",
    "umount /mnt/x",
    "userdel app",
    "kubectl delete pod x",
    "systemctl start reboot.target",
    "systemctl isolate multi-user",
    "iptables -F",
)
ADDING = (
    "mkdir -p /srv/a",
    "touch /srv/a/state",
    "echo ready >> /srv/a/state",
    "tee -a /srv/a/conf",
    "cp -n /srv/a/x /srv/a/y",
    "ln -s /srv/a/x /srv/a/y",
    "chmod +x /srv/a/run",
    "apt-get update",
    "DEBIAN_FRONTEND=noninteractive apt-get install -y --no-remove nginx",
    "systemctl start nginx",
    "systemctl enable --now nginx",
    "git config --global --add safe.directory /srv/a",
    "docker start web",
    "groupadd app",
)
LOOKING = ("true", "ls -l /srv/a", "test -e /srv/a", "systemctl status nginx", "cat a 2>/dev/null")
DISCARDING = (
    "curl -s -o /dev/null http://a/",
    "wget -qO /dev/null http://a/",
    "sort -uo /dev/null a",
)
UNKNOWN = (
    "./migrate.sh",
    "bash fix.sh",
    "python3 -c 'print(1)'",
    "make deploy",
    "chmod 777 /srv/a",
    "chmod 600 /srv/a/key",
    "apt-get install -y exim4",
    "pip install flask",
    "cat >> /srv/a/crontab <<E\n* * * * * evil\nE",
    "chmod -R 600 /srv/a",
    "chown app /srv/a",
    "mkdir $(cat names)",
    "ssh db2 true",
    "if",
    "\0",
)
AROUND = (
    *("{}", "sudo {}", "sudo -n {}", "env {}", "nohup {} &", "timeout 5 {}", "( {} )", "{{ {}; }}"),
    *("true && {}", "{} || true", "if true; then {}; fi", "for x in 1 2; do {}; done"),
    *("mkdir -p /srv/a; {}", "{}; ls /srv/a", "x=$({})", "f() {{ {}; }}; f", "! {}"),
)


@pytest.mark.parametrize("text", HARMFUL)
def test_what_stops_or_destroys(text: str) -> None:
    assert destroys(text)


@pytest.mark.parametrize("text", [*ADDING, *LOOKING, *UNKNOWN, *DISCARDING])
def test_what_is_not_known_to_stop_or_destroy(text: str) -> None:
    assert destroys(text) == ()


@pytest.mark.parametrize("text", ADDING)
def test_what_only_adds(text: str) -> None:
    assert {each.effect for each in effects(text)} <= {Effect.ADDS, Effect.LOOKS}
    assert Effect.ADDS in {each.effect for each in effects(text)}


@pytest.mark.parametrize("text", LOOKING)
def test_what_only_looks(text: str) -> None:
    assert {each.effect for each in effects(text)} == {Effect.LOOKS}


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_nobody_described_may_do_anything(text: str) -> None:
    assert Effect.UNKNOWN in {each.effect for each in effects(text)}


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(HARMFUL), st.sampled_from(AROUND), st.sampled_from(AROUND))
def test_no_wrapping_hides_what_destroys(text: str, inner: str, outer: str) -> None:
    wrapped = outer.format(f"sh -c {_quoted(inner.format(text))}")
    assert destroys(wrapped) or Effect.UNKNOWN in {each.effect for each in effects(wrapped)}


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from([*HARMFUL, *ADDING, *LOOKING]), min_size=1, max_size=4))
def test_a_text_does_whatever_its_parts_do(texts: list[str]) -> None:
    whole = {each.effect for each in effects("\n".join(texts))}
    for text in texts:
        assert {each.effect for each in effects(text)} <= whole


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    destroys(text)


def test_what_a_text_names() -> None:
    named = {name for each in effects("mkdir -p /srv/a && chmod +x /srv/k") for name in each.names}
    assert named == {"/srv/a", "/srv/k"}
    named = {name for each in effects("systemctl status nginx") for name in each.names}
    assert named == {"nginx"}


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
