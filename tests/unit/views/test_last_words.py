"""Of what a program writes, the line that says why it failed is shown."""

import pytest

from orchestrator.views.last_words import MOST, last_words

CASES = (
    ("sh: 1: /usr/sbin/logrotate: not found\n", "sh: 1: /usr/sbin/logrotate: not found"),
    (
        "WARNING: apt does not have a stable CLI interface. Use with caution in scripts.\n\n"
        "E: Could not open lock file /var/lib/apt/lists/lock - open (13: Permission denied)\n"
        "E: Unable to lock directory /var/lib/apt/lists/\n"
        "W: Problem unlinking the file /var/cache/apt/pkgcache.bin - RemoveCaches "
        "(13: Permission denied)\n",
        "E: Could not open lock file /var/lib/apt/lists/lock - open (13: Permission denied)",
    ),
    (
        "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)\n"
        "nginx: [emerg] still could not bind()\n",
        "nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)",
    ),
    (
        'psql: error: connection to server on "/run/5432" failed: No such file or directory\n'
        "\tIs the server running locally and accepting connections on that socket?\n",
        'psql: error: connection to server on "/run/5432" failed: No such file or directory',
    ),
    (
        "Job for nginx.service failed because the control process exited with error code.\n"
        'See "systemctl status nginx.service" and "journalctl -xeu nginx.service" for details.\n',
        "Job for nginx.service failed because the control process exited with error code.",
    ),
    (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    import flask\n'
        "ModuleNotFoundError: No module named 'flask'\n",
        "ModuleNotFoundError: No module named 'flask'",
    ),
    (
        "ls: cannot access '/x': No such file or directory\nbuild: bad syntax in line 5\n",
        "build: bad syntax in line 5",
    ),
    (
        "ERROR: Could not find a version that satisfies the requirement flsk\n"
        "ERROR: No matching distribution found for flsk\n\n"
        "[notice] A new release of pip is available: 23.0 -> 24.0\n"
        "[notice] To update, run: pip install --upgrade pip\n",
        "ERROR: No matching distribution found for flsk",
    ),
    ("cc: fatal error: no input files\nmake: *** [Makefile:3: all] Error 1\n", None),
    (
        "curl: (7) Failed to connect to localhost port 80: Connection refused\n",
        "curl: (7) Failed to connect to localhost port 80: Connection refused",
    ),
    (
        "tar: unrecognized option '--x'\nTry 'tar --help' or 'tar --usage' for more information.\n",
        "tar: unrecognized option '--x'",
    ),
    ("W: only a warning\n", "W: only a warning"),
    ("   indented alone\n", "indented alone"),
    ("first\nsecond\n\n----\n", "second"),
)


@pytest.mark.parametrize(("written", "said"), CASES)
def test_the_line_that_says_why_is_found(written: str, said: str | None) -> None:
    assert last_words([written]) == (said or written.splitlines()[0])


def test_errors_are_asked_first_and_what_says_nothing_is_passed_over() -> None:
    assert last_words(["\n---\n", "", "on stdout"]) == "on stdout"
    assert last_words(["why", "other"]) == "why"
    assert last_words(["", "\n"]) == ""
    assert len(last_words(["x" * 10_000])) == MOST
