"""Texts that a shell evaluates: arithmetic, subscripts, names of variables, prompts."""

import subprocess
from pathlib import Path

import pytest

from shared.guard import Guard, load_site


@pytest.fixture(scope="module")
def guard() -> Guard:
    """The guard of a fresh installation."""
    return Guard(load_site(None).for_host())


UNSEEN = "read -r x < /tmp/n"
EVALUATES = [
    "echo $((x))",
    "echo $((x + 1))",
    "y=x; echo $((y))",
    "echo $(( $x * 2 ))",
    "[ $x -gt 5 ]",
    "test $x",
    "z=${x:-1}; echo $((z))",
]
ONLY_BASH = [
    'echo "${x@P}"',
    'echo "${!x}"',
    '[[ "$x" -eq 5 ]]',
    '[[ -v "$x" ]]',
    'test -v "$x"',
    '[ -v "$x" ]',
    'printf -v "$x" 1',
    'printf -v"$x" 1',
    'unset "a[$x]"',
    'read "a[$x]" < /tmp/m',
    "a[$x]=1",
    "a=([$x]=1)",
    's=abc; echo "${s:x}"',
    's=abc; echo "${s:0:$x}"',
    's=abc; echo "${s:${x@P}}"',
    "echo ${a[x]}",
    "((x > 5))",
    "((y = x))",
    "let y=x+1",
    "let 'y=x'",
    "for ((i = 0; i < x; i++)); do echo $i; done",
    "echo $[x]",
    "declare -i y; y=$x",
    'declare -n y="$x"; echo $y',
    'echo "${y/${x@P}/}"',
    '[[ "${x@P}" = y ]]',
    'case "${x@P}" in a) ;; esac',
]


@pytest.mark.parametrize("text", EVALUATES)
def test_arithmetic_on_unseen_data_asks_where_sh_may_be_bash(guard: Guard, text: str) -> None:
    """Bash evaluates the values of variables, and runs what stands in their subscripts."""
    assert not guard.judge(f"{UNSEEN}; {text}").allowed
    assert not guard.judge(f"{UNSEEN}; {text}", "bash").allowed


def test_dash_evaluates_no_value(guard: Guard) -> None:
    """Where the shell is certainly dash, a value that is no number is only an error."""
    assert guard.judge(f"{UNSEEN}; echo $((x))", "dash").allowed


@pytest.mark.parametrize("text", ONLY_BASH)
def test_what_bash_evaluates_of_unseen_data_asks(guard: Guard, text: str) -> None:
    """Names, subscripts, slices, prompts and conditions: each of them can run a command."""
    assert not guard.judge(f"{UNSEEN}; {text}", "bash").allowed
    assert not guard.judge(f"{UNSEEN}; {text}").allowed


NUMBERS = [
    "wc -l < /var/log/syslog",
    "nproc",
    "date +%s",
    "grep -c ERROR /var/log/app.log",
    "grep -c ERROR /var/log/app.log || true",
    "nproc 2>/dev/null || echo 1",
    "id -u",
    "stat -c %s /var/log/syslog",
    "df --output=pcent / | tail -1 | tr -dc 0-9",
    "cat /tmp/n | tr -cd '[:digit:]'",
    "ps aux | wc -l",
    "pgrep -c nginx",
    "expr 1 + 2",
    "getconf _NPROCESSORS_ONLN",
    "cat /sys/class/net/eth0/mtu",
    "awk '/MemTotal/{print $2}' /proc/meminfo",
    "curl -s -o /dev/null -w '%{http_code}' http://localhost/",
    "cat /tmp/list | wc -l | head -1",
    "echo 5",
]


@pytest.mark.parametrize("maker", NUMBERS)
def test_what_only_prints_numbers_may_be_evaluated(guard: Guard, maker: str) -> None:
    """A number holds no code, wherever it comes from."""
    assert guard.judge(f"x=$({maker}); echo $((x + 1))").allowed
    assert guard.judge(f'x=$({maker}); [[ "$x" -gt 5 ]]', "bash").allowed


NO_NUMBERS = [
    "cat /tmp/n",
    "curl -s -w '%{http_code}' http://localhost/",
    "curl -s -o /dev/null -w '%{http_code}' http://localhost/ http://example.com/",
    "curl -s -o /dev/null -w '%{url_effective}' http://localhost/",
    "wc -l /tmp/n",
    "grep -c x /tmp/*",
    "grep -o '[0-9a-z]*' /tmp/n",
    "stat -c %n /tmp/n",
    'stat -c %s "$f"',
    "date",
    'seq "$f" 3',
    "tr -d x < /tmp/n",
    "head -1 /tmp/n",
    "awk '{print $1}' /tmp/n",
    "jq .x /tmp/n.json",
]  # fmt: skip


@pytest.mark.parametrize("maker", NO_NUMBERS)
def test_what_may_print_anything_may_not_be_evaluated(guard: Guard, maker: str) -> None:
    """Also where a word that is not known may be an option that changes what is printed."""
    assert not guard.judge(f"read -r f < /tmp/n; x=$({maker}); echo $((x + 1))").allowed


HONEST = [
    "i=0; while [ $i -lt 5 ]; do i=$((i+1)); done; echo $i",
    "for i in $(seq 1 5); do echo $((i*2)); done",
    "for i in 1 2 3; do echo $((i*2)); done",
    "now=$(date +%s); then=$(stat -c %Y /var/log/syslog); echo $(( (now - then) / 60 ))",
    "f() { echo $(( $1 + 1 )); }; f 3",
    "s=hello; echo ${#s}",
    "[ $(df / | awk 'NR==2{print $5}' | tr -d %) -lt 90 ]",
    '[ "$(cat /tmp/n)" -gt 5 ]',
    "n=$#; echo $((n + $?))",
]  # fmt: skip


@pytest.mark.parametrize("text", HONEST)
def test_counting_does_not_ask(guard: Guard, text: str) -> None:
    """Loops, times and lengths are numbers throughout."""
    assert guard.judge(text, "bash").allowed
    assert guard.judge(text).allowed


@pytest.mark.parametrize(
    "text",
    ["for ((i=0;i<5;i++)); do echo $i; done", 's=hello; echo "${s:0:2}" ${#s} "${s@Q}"'],
)
def test_what_is_known_may_be_evaluated_by_bash(guard: Guard, text: str) -> None:
    """The forms that only bash has."""
    assert guard.judge(text, "bash").allowed


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("a[$(touch${IFS}ran)]", "read -r x < data; echo $((x)); true"),
        ("a[$(touch${IFS}ran)]", "read -r x < data; [[ $x -gt 5 ]]; true"),
        ("a[$(touch${IFS}ran)]", 'read -r x < data; test -v "$x"; true'),
        ("a[$(touch${IFS}ran)]", 'read -r x < data; echo "${!x}"; true'),
        ("-v a[$(touch${IFS}ran)] -o 1", "[ $(cat data) -gt 5 ]; true"),
        ("$(touch ran)", 'read -r x < data; echo "${x@P}"; true'),
    ],
)  # fmt: skip
def test_bash_runs_what_the_guard_asks_about(
    guard: Guard, tmp_path: Path, data: str, text: str
) -> None:
    """The danger is real: bash itself runs a command that stood in the data."""
    (tmp_path / "data").write_text(f"{data}\n")
    subprocess.run(["bash", "-c", text], cwd=tmp_path, check=False, capture_output=True)
    assert (tmp_path / "ran").exists()
    assert not guard.judge(text, "bash").allowed
