"""What is added to a command's environment is nowhere else on its host."""

from pathlib import Path

from tests.integration.remote.drivers import Drivers, lines
from tests.services.ring import eventually
from workers.shells.ports import Call

VALUE = 'it\'s a "$word" \\ of `several`\nlines; é'


def test_a_command_gets_them_as_they_are(drivers: Drivers) -> None:
    """Whatever stands in them, and only that command."""
    shell = drivers.next().shell
    variables = {"WORD": VALUE, "OTHER": "x"}
    ask = 'printf %s "$WORD$OTHER"'
    assert shell.run(Call(ask, 20, variables=variables, key="k1")).stdout.decode() == f"{VALUE}x"
    assert shell.run(Call(ask, 20, key="k2")).stdout == b""
    assert shell.run(Call('test -n "$WORD"', 20, variables=variables)).ok


def test_they_are_in_no_record_and_no_command_line(drivers: Drivers, on: object) -> None:
    """While the command runs, too."""
    driver = drivers.next()
    assert driver.on is on
    ask = "cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -c 'c[a]nary'; sleep 0.2"
    result = driver.shell.run(Call(ask, 20, variables={"WORD": "canary"}, key="k1"))
    assert result.stdout == b"0\n"
    kept = [path for path in driver.on.home.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"canary" in path.read_bytes()]


def test_pipelined_commands_get_theirs(drivers: Drivers, tmp_path: Path) -> None:
    """Each its own."""
    driver, ledger = drivers.next(), tmp_path / "ledger"
    calls = [
        Call(f"echo $WORD >>{ledger}", 20, key=f"k{n}", variables={"WORD": f"w{n}"})
        for n in range(3)
    ]
    driver.shell.pipeline(call for call in calls)
    first = calls[0]
    assert driver.shell.run(Call(first.command, 20, key=first.key, variables=first.variables)).ok
    eventually(lambda: lines(ledger) == ["w0", "w1", "w2"], "all of them")
