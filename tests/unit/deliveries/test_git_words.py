"""What git says of remotes, as it was seen."""

import pytest

from workers.deliveries.git_words import PushEnd, push_end, refuses_us, shown

REF = "refs/heads/session/T1"
DONE = f"To /srv/app.git\n*\t{'a' * 40}:{REF}\t[new branch]\nDone\n"
HOOK = (
    "remote: no deliveries on fridays\nTo /srv/app.git\n"
    f"!\t{'a' * 40}:{REF}\t[remote rejected] (pre-receive hook declined)\nDone\n"
    "error: failed to push some refs to '/srv/app.git'\n"
)
STALE = f"To /srv/app.git\n!\t{'a' * 40}:{REF}\t[rejected] (stale info)\nDone\n"
SILENT = f"!\t{'a' * 40}:{REF}\t[remote failure] (remote failed to report status)\nDone\n"
CUT = (
    "send-pack: unexpected disconnect while reading sideband packet\n"
    "fatal: the remote end hung up unexpectedly\n"
)
FORBIDDEN = (
    "remote: Permission to o/app.git denied to bot.\nfatal: unable to access "
    "'https://github.com/o/app.git/': The requested URL returned error: 403\n"
)


@pytest.mark.parametrize(
    ("said", "code", "end"),
    [
        (DONE, 0, PushEnd.DONE),
        (DONE.replace("*", "="), 0, PushEnd.DONE),
        (DONE.replace("*", " "), 0, PushEnd.DONE),
        (HOOK, 1, PushEnd.REFUSED),
        (STALE, 1, PushEnd.MOVED),
        (SILENT, 1, PushEnd.LOST),
        (CUT, 128, PushEnd.LOST),
        (FORBIDDEN, 128, PushEnd.REFUSED),
        ("fatal: the receiving end does not support --atomic push\n", 128, PushEnd.REFUSED),
        ("", 0, PushEnd.DONE),
    ],
)
def test_a_push_ends_as_git_says(said: str, code: int, end: PushEnd) -> None:
    assert push_end(said, code, REF) is end


def test_what_the_other_side_prints_is_no_line_of_git() -> None:
    """A hook cannot say that the push was taken."""
    line = f"remote: *\t{'a' * 40}:{REF}\t[new branch]\n"
    assert push_end(line + CUT, 128, REF) is PushEnd.LOST
    assert push_end(HOOK.replace(REF, f"{REF}0"), 1, REF) is PushEnd.LOST


@pytest.mark.parametrize(
    "said",
    [
        "git@github.com: Permission denied (publickey).\nfatal: Could not read from remote",
        "fatal: could not read Username for 'https://h': terminal prompts disabled",
        "fatal: Authentication failed for 'https://h/app.git/'",
        "Host key verification failed.\nfatal: Could not read from remote repository.",
        "remote: Repository not found.\nfatal: repository 'https://h/app.git/' not found",
        "fatal: '/srv/app.git' does not appear to be a git repository",
        "fatal: ref updates aborted by hook\nfatal: the remote end hung up unexpectedly",
        "error: object 1234: zeroPaddedFilemode: zero-padded\nfatal: fsck error in packed object",
        "fatal: detected dubious ownership in repository at '/srv/app.git'",
        "fatal: unable to access 'https://h/': server certificate verification failed.",
    ],
)
def test_a_remote_that_does_not_let_us_in_is_no_use_to_wait_for(said: str) -> None:
    assert refuses_us(said)


@pytest.mark.parametrize(
    "said",
    [
        "ssh: connect to host h port 22: Connection refused\nfatal: Could not read from remote",
        "ssh: Could not resolve hostname h: Temporary failure in name resolution",
        "fatal: unable to access 'https://h/': Could not resolve host: h",
        "fatal: unable to access 'https://h/': The requested URL returned error: 503",
        "fatal: unable to access 'https://h/': Failed to connect to h port 443: Timed out",
        "fatal: the remote end hung up unexpectedly",
        "there is no folder /srv/app.git",
    ],
)
def test_a_remote_that_is_away_comes_back(said: str) -> None:
    assert not refuses_us(said)


def test_a_person_is_shown_why_and_no_more() -> None:
    assert shown(HOOK).splitlines() == [
        "remote: no deliveries on fridays",
        f"!\t{'a' * 40}:{REF}\t[remote rejected] (pre-receive hook declined)",
    ]
