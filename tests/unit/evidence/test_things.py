"""What commands and messages name: tables, and what holds for any text."""

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shared.guard import Guard, load_site
from workers.evidence.named_in_commands import things_in_command
from workers.evidence.named_in_output import things_in_output
from workers.evidence.questions import above, components, questions
from workers.evidence.things import MOST_OF_A_KIND, Thing, ThingKind, select, thing

COMMANDS = [
    ("systemctl start site", "unit:site.service"),
    ("sudo -n systemctl restart app.socket", "account:root unit:app.socket"),
    ("service stats status", "unit:stats.service"),
    ("journalctl -u site -n 5", "unit:site.service"),
    ("curl -fsS http://127.0.0.1:8080/ready > /srv/out", "port:8080 path:/srv/out"),
    ("curl -o x https://me:pw@db.internal:8443/a", "port:8443 host:db.internal"),
    ("python3 -m http.server 8080", "port:8080"),
    ("psql -h db.internal -p 5432", "port:5432 host:db.internal"),
    ("nc -z 127.0.0.1 6379", "port:6379"),
    ("ssh deploy@web2 true", "host:web2"),
    ("cd /srv/app && cat run/app.pid 2>/dev/null", "path:/srv/app path:/srv/app/run/app.pid"),
    (
        "runuser -u shop -- sh -c 'nc -U /run/q.sock > /srv/a'",
        "account:shop path:/run/q.sock path:/srv/a",
    ),
    ("su - app -c 'cat /srv/b'", "account:app path:/srv/b"),
    ("apt-get install -y nginx=1.2 ./x.deb", "package:nginx path:x.deb"),
    ("apk add curl python3.11", "package:curl package:python3.11"),
    ("chown app:www /srv/x", "account:app group:www path:/srv/x"),
    ("install -d -o shop -g shop /srv/d", "account:shop group:shop path:/srv/d"),
    ("usermod -aG media shop", "group:media account:shop"),
    ("tar xf a.tar -C '/srv/x y'", "path:/srv/x y"),
    ("tail /var/log/app/app.log", "path:/var/log/app/app.log log:/var/log/app/app.log"),
    ("sed -i 's/:99/:90/' /etc/a.conf", "path:/etc/a.conf"),
    ("cp $HOME/x ~/y /etc/*.conf /dev/null / .", ""),
    ("A=1 env B=2 /opt/app/run --data=/srv/d", "path:/srv/d path:/opt/app/run"),
    ("echo 'an open quote /srv/x", "path:/srv/x"),
]


def listed(things: tuple[Thing, ...]) -> str:
    return " ".join(f"{each.kind}:{each.name}" for each in things)


@pytest.mark.parametrize(("command", "names"), COMMANDS)
def test_what_a_command_names(command: str, names: str) -> None:
    assert listed(things_in_command(command)) == names


OUTPUTS = [
    (
        "Job for site.service failed because the control process exited with error code.\n"
        'See "systemctl status site.service" and "journalctl -xeu site.service" for details.',
        "unit:site.service",
    ),
    ("stats.service is not active, cannot reload.", "unit:stats.service"),
    ("nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)", "port:80"),
    ("Error: listen EADDRINUSE: address already in use :::3000", "port:3000"),
    ("curl: (7) Failed to connect to localhost port 9999: Connection refused", "port:9999"),
    ("cat: run/app.pid: No such file or directory", "path:run/app.pid"),
    ("cp: cannot stat '/srv/my x/y': No such file or directory", "path:/srv/my x/y"),
    ("sh: 1: cannot create /srv/x/y: Permission denied", "path:/srv/x/y"),
    ("mkdir: cannot create directory \u2018/srv/a\u2019: File exists", "path:/srv/a"),
    ("bash: ./x: /bin/bashh: bad interpreter: No such file or directory", "path:/bin/bashh"),
    ('  File "/usr/lib/python3/x.py", line 1: No such file', ""),
    ("all is well in /srv/x and /etc/y", ""),
    ("E: Unable to locate package foo", "package:foo"),
    ("The following held packages will be changed:\n  nginx", "package:nginx"),
    ("dpkg: error processing package nginx (--configure):", "package:nginx"),
    ("chown: invalid user: 'shop:www'", "account:shop group:www"),
    ("runuser: user shop does not exist", "account:shop"),
    ("id: 'shop': no such user", "account:shop"),
    ("useradd: invalid user ID '@number@'", ""),
    ("curl: (6) Could not resolve host: db.internal", "host:db.internal"),
    ("E: Temporary failure resolving 'deb.debian.org'", "host:deb.debian.org"),
    (
        "npm ERR! A complete log of this run can be found in: /root/.npm/_logs/a-0.log",
        "log:/root/.npm/_logs/a-0.log",
    ),
    ("for details see the log in /etc/shadow.log", "path:/etc/shadow.log"),
]


@pytest.mark.parametrize(("output", "names"), OUTPUTS)
def test_what_an_output_names(output: str, names: str) -> None:
    assert listed(things_in_output(output)) == names


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (ThingKind.UNIT, "-x"),
        (ThingKind.UNIT, "a b"),
        (ThingKind.UNIT, "a;b"),
        (ThingKind.PORT, "0"),
        (ThingKind.PORT, "65536"),
        (ThingKind.PATH, "-rf"),
        (ThingKind.PATH, "/a\nb"),
        (ThingKind.PATH, "/a$(id)"),
        (ThingKind.PATH, "/proc/1/environ"),
        (ThingKind.PATH, "x" * 300),
        (ThingKind.LOG, "/etc/shadow"),
        (ThingKind.LOG, "/root/.ssh/id_rsa"),
        (ThingKind.LOG, "/srv/app/.env"),
        (ThingKind.LOG, "relative.log"),
        (ThingKind.PACKAGE, "-y"),
        (ThingKind.HOST, "a b"),
        (ThingKind.ACCOUNT, "1000"),
        (ThingKind.GROUP, ""),
    ],
)
def test_what_is_no_name_is_not_asked_about(kind: ThingKind, name: str) -> None:
    assert thing(kind, name) is None


def test_of_many_things_some_of_each_kind_are_kept() -> None:
    many = [Thing(ThingKind.PORT, str(n)) for n in range(1, 40)] * 2
    unit = Thing(ThingKind.UNIT, "a.service")
    assert select([*many, unit]) == (*many[:MOST_OF_A_KIND], unit)


def test_the_folders_above_a_path() -> None:
    assert above("/srv/app/x") == ["/", "/srv", "/srv/app", "/srv/app/x"]
    assert above("run/x") == ["run", "run/x"]
    assert components(["/srv/a", "/srv/b"]) == ("/", "/srv", "/srv/a", "/srv/b")


TEXTS = st.text(max_size=200) | st.lists(
    st.sampled_from(
        [text for text, _ in (*COMMANDS, *OUTPUTS)]
        + ["';reboot;'", "$(reboot)", "`id`", "\n", " ", "'", '"', "/srv/é x", ":80", "\x00"]
    ),
    max_size=6,
).map("".join)
LOOKS = Guard(load_site(None).for_host())


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_any_text_gives_names_of_their_forms_and_questions_that_the_guard_allows(
    text: str,
) -> None:
    found = select((*things_in_command(text), *things_in_output(text)))
    assert all(thing(each.kind, each.name) == each for each in found)
    for name, command in questions(found, (42,)).items():
        assert "\n" not in name
        # Of a log that may hold a secret the guard thinks as of any other file.
        assert LOOKS.judge(command).allowed or name.startswith("log "), command
        quoted = [each.name for each in found if each.kind is ThingKind.UNIT]
        assert all(shlex.quote(n) == n for n in quoted)


def test_no_question_reads_a_secret() -> None:
    """Rights of keys may be asked for, their content may not."""
    found = things_in_command("cat /etc/shadow /root/.ssh/id_ed25519 /srv/.env /proc/1/environ")
    for command in questions(found).values():
        assert not command.startswith(("timeout 3 tail", "cat /etc"))
        assert "environ" not in command
