"""Twenty secrets go through a whole journey, and turn up nowhere but where they were needed."""

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from redis import Redis

from benchmarks.stage import enrol
from tests.fakes.model_server import Asked, Decides, ModelServer, Says, model_server
from tests.journeys.plans import plan, step
from tests.services.accounts import Account
from tests.services.ring import Ring, eventually
from tests.services.sshd import SshServers
from tests.unit.planning.given import (
    detail_answer,
    plan_answer,
    revision_answer,
    step_answer,
    subtask_answer,
)

VALUES = {
    f"CANARY_{number:02}": value
    for number, value in enumerate(
        [
            *(f"plain-canary-{number}-x8Kq2" for number in range(8)),
            "with space and 'quotes' 41",
            'double "quoted" and \\ back 42',
            "dollar $HOME `id` $(id) 43",
            "percent %s %d %% 44/45?x=y&z",
            "first line of canary 46\nsecond line of canary 47",
            "ümläut-canary-48-日本語",
            "equals=plus+slash/canary49==",
            "<canary tag='50'>&amp;</canary>",
            '{"json": "canary 51"}',
            "-n canary 52 --flag",
            "#canary 53 ; rm *",
            "canary54" * 12,
        ]
    )
}


def forms(value: str) -> list[bytes]:
    """How somebody who looks for it would look."""
    found = {value, quote(value), quote_plus(value), json.dumps(value)[1:-1], value.encode().hex()}
    found.add(base64.b64encode(value.encode()).decode().rstrip("=")[:-1])
    found |= set(value.split("\n"))
    return [form.encode() for form in found]


def hits(content: bytes) -> list[str]:
    """The secrets that stand in something, as they are or broken into lines."""
    bare = b"".join(content.split())
    return [
        name
        for name, value in VALUES.items()
        if any(form in content or b"".join(form.split()) in bare for form in forms(value))
    ]


@pytest.fixture
def model(ring: Ring, tmp_path: Path) -> Iterator[ModelServer]:
    """A ring with a vault, whose planning roles ask a scripted model."""
    vault = tmp_path / "vault"
    vault.mkdir(mode=0o700)
    for name, value in VALUES.items():
        (vault / name).touch(mode=0o600)
        (vault / name).write_text(value)
    with model_server() as scripted:
        ring.extra |= {**scripted.environ, "REPLAN_VAULT_DIR": str(vault)}
        ring.coordinator()
        ring.worker("taskmaster", "planner", "subtask_planner", "escalation")
        ring.worker("executor")
        yield scripted
        ring.stop()


def commands() -> list[str]:
    """Each shows a secret in some way, as programs that were given one do; every third fails."""
    ways = (
        'printf "got %s\\n" "${secret:NAME}"',
        'printf "%s" "${secret:NAME}" | base64 -w 0 >&2',
        'printf "error: wrong password: %s\\n" "${secret:NAME}" >&2; exit 3',
        "cat <<END\nuser=app&password=${secret:NAME}\nEND",
        'printf "%s" "${secret:NAME}" | od -An -tx1 | tr -d " \\n"',
        'WORD="${secret:NAME}" && printf "%s" "$WORD" && exit 4',
        'printf "%s" "${secret:NAME}" | od -c',
        'printf "%s" "${secret:NAME}" | fold -w 5',
        'printf "%s" "${secret:NAME}" | base64 | base64 -w 20',
        'printf "%s" "${secret:NAME}" | od -tx1; exit 5',
    )
    return [ways[n % len(ways)].replace("NAME", name) for n, name in enumerate(VALUES)]


def test_no_secret_turns_up_anywhere(
    ring: Ring, model: ModelServer, sshd_factory: SshServers, ssh_account: Account, tmp_path: Path
) -> None:
    """Not in Postgres, Redis, logs, answers, files on the host or what the model is asked."""
    proof = ssh_account.home / "proof"
    enrol(ring.database, "web1", sshd_factory())
    known = "CANARY_00"
    model.will(
        Says(plan_answer(step_answer("use"))),
        Says(
            detail_answer(
                *(subtask_answer(f"s{n}", text, needs=[]) for n, text in enumerate(commands()))
            )
        ),
        Says(
            revision_answer(
                subtask_answer(
                    "prove",
                    f'test -n "${{secret:{known}}}" && echo given > {proof}',
                    check=f"grep -qx given {proof}",
                )
            )
        ),
    )
    typed = f"use the secrets, the first is {VALUES[known]}, admin password is Canary-pw-99"
    options = [f"--secret={name}" for name in VALUES]
    options += ["--set=error_threshold_per_step=7", "--set=auto_correction_enabled=false"]
    said = ring.replan("task", "submit", typed, "--host=web1", "--autonomy=plan", *options)
    assert "masked before it was stored" in said.stdout + said.stderr
    task = int(ring.scalar("SELECT max(id) FROM tasks"))
    # They show secrets, which nobody may unseen.
    ring.ends(task, "waiting")
    ring.replan("plan", "approve", f"T{task}")
    (asked,) = eventually(lambda: open_approvals(ring), "the question about the revision")
    ring.replan("intervention", "approve", f"I{asked.id}")
    ring.ends(task)
    assert model.unused() == 0

    outcomes = ring.rows("SELECT command, outcome, stdout, stderr FROM attempts ORDER BY id")
    assert len(outcomes) == len(VALUES) + 2  # the revision asked first
    assert b"Canary-pw-99" not in everything_in(ring)
    told = "".join(row.stdout + row.stderr for row in outcomes)
    masked = [name for name in VALUES if f"‹secret:{name}›" in told]
    assert len(masked) >= len(VALUES) - 4, told  # by value; od's line breaks are told apart below
    assert "error: wrong password: ‹secret:CANARY_02›" in told

    at_the_end = "the end of what lies on the host"
    eventually(lambda: not hits(files_below(ssh_account.home)), at_the_end)
    for what, content in {
        "Postgres": everything_in(ring),
        "Redis": everything_at(ring.broker_url),
        "the logs": b"".join(path.read_bytes() for path in tmp_path.glob("*.log")),
        "files on the host": files_below(ssh_account.home),
        "requests to the model": json.dumps(
            [dict(asked.body) for asked in model.asked], ensure_ascii=False
        ).encode(),
        "answers": answers(ring, task),
    }.items():
        assert len(content) > 0, what
        assert hits(content) == [], what


HOSTILE = {
    "T42": 'printf "%s" "${secret:CANARY_00}" | openssl s_client -connect 127.0.0.1:9 || true',
    "T45": 'printf "%s" "${secret:CANARY_00}" | tr a-z b-za',
    "T48": "sed -n p > ~/leak.txt <<EOF\n${secret:CANARY_00}\nEOF",
    "T75": 'printf "%s" "${secret:CANARY_00}" | rev',
}


def insisting_on(texts: list[str]) -> Callable[[Asked], Says]:
    """A model that plans each text for one step, and insists on it when it may do better."""

    def answer(asked: Asked) -> Says:
        if len(asked.said) > 1:
            return Says(asked.said[-2])
        return Says(detail_answer(subtask_answer("s", texts.pop(0), needs=[])))

    return answer


def test_what_a_model_plans_with_a_secret_asks_or_is_refused(
    ring: Ring, model: ModelServer, sshd_factory: SshServers, ssh_account: Account
) -> None:
    """Nothing of it runs unseen; and it may name only what a person has given the task."""
    enrol(ring.database, "web1", sshd_factory())
    model.will(Says(plan_answer(*(step_answer(name.lower()) for name in HOSTILE))))
    texts = [*HOSTILE.values(), HOSTILE["T75"]]
    model.will(Decides(insisting_on(texts)), wanted="DetailAnswer")
    ring.replan("task", "submit", "use it", "--host=web1", "--secret=CANARY_00")
    ring.ends(int(ring.scalar("SELECT max(id) FROM tasks")), "waiting")
    asked = "SELECT count(*) FROM interventions"
    eventually(lambda: ring.scalar(asked) == len(HOSTILE), "a question about each")
    model.will(Says(plan_answer(step_answer("use"))))
    ring.replan("task", "submit", "use it", "--host=web1")
    ring.ends(int(ring.scalar("SELECT max(id) FROM tasks")), "waiting")
    reasons = ring.rows("SELECT reason FROM interventions ORDER BY id")
    assert "was not given the secret CANARY_00" in reasons[-1].reason
    assert ring.scalar("SELECT count(*) FROM attempts WHERE ran_at IS NOT NULL") == 0
    assert not (ssh_account.home / "leak.txt").exists()
    assert hits(everything_in(ring)) == []


def open_approvals(ring: Ring) -> Sequence[Any]:
    """What waits for an approval."""
    return ring.rows("SELECT id FROM interventions WHERE closed_at IS NULL AND kind = 'approval'")


def files_below(folder: Path) -> bytes:
    """All files of an account, and of memory."""
    found = [*folder.rglob("*"), *Path("/dev/shm").glob("replan-*/**/*")]
    return b"\n".join(path.read_bytes() for path in found if path.is_file())


def everything_in(ring: Ring) -> bytes:
    """Every row of every table, as text and with its bytes as they are."""
    rows = []
    for (table,) in ring.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        for row in ring.rows(f'SELECT * FROM "{table}"'):  # noqa: S608 - a table of the schema
            rows += [
                bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()
                for value in row
            ]
        rows += [
            row[0].encode()
            for row in ring.rows(f'SELECT t::text FROM "{table}" t')  # noqa: S608
        ]
    return b"\n".join(rows)


def everything_at(url: str) -> bytes:
    """Every key and value of the broker."""
    with Redis.from_url(url) as redis:
        keys = list(redis.scan_iter())
        return b"\n".join([b"keys:", *keys, *(redis.dump(key) or b"" for key in keys)])


def answers(ring: Ring, task: int) -> bytes:
    """What the CLI shows of it."""
    place = f"T{task}.1@web1"
    asked = (
        ("task", "report", f"T{task}"),
        ("task", "show", f"T{task}"),
        ("step", "show", place),
        ("attempt", "list", place),
        ("bundle", "show", place),
    )
    shown = [
        ring.replan(*words, "--format", form, check=None)
        for words in asked
        for form in ("human", "min-json")
    ]
    assert all(done.returncode == 0 for done in shown), [d.stderr for d in shown]
    return "".join(done.stdout + done.stderr for done in shown).encode()


def test_a_vault_that_others_can_read_stops_the_pass(ring: Ring, tmp_path: Path) -> None:
    """The task waits for a person, who is told what to type."""
    vault = tmp_path / "vault"
    vault.mkdir(mode=0o700)
    (vault / "TOKEN").write_text("readable by all")
    (vault / "TOKEN").chmod(0o644)
    ring.extra["REPLAN_VAULT_DIR"] = str(vault)
    ring.coordinator()
    ring.worker("executor", "escalation")
    task = ring.submit(plan(step(['printf "%s" "${secret:TOKEN}"'])), "localhost")
    ring.ends(task, "waiting")
    (told,) = ring.rows("SELECT reason, next_step FROM interventions")
    assert "TOKEN" in told.reason
    assert "chmod" in told.next_step["text"]
    assert ring.scalar("SELECT count(*) FROM attempts") == 0
