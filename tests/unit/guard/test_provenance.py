"""What plans leave on a host, and what the guard makes of it."""

import re
from pathlib import Path

import pytest

from orchestrator.proposals.narrowest import propose
from shared.domain.provenance import Mark, MarkKind
from shared.guard import Guard, PlanGuard, load_site
from shared.guard.paths import START
from shared.guard.policy.ground import Ground
from shared.guard.policy.operands import CHANGING, KINDS, WRITING
from shared.guard.words import literal_word

GUARD = Guard(load_site(None).for_host())
CONFIGURE = Guard(load_site(None).for_host(None, (), ("configure",)))


def test_a_kind_of_operand_that_looks_at_where_it_writes_leaves_something_there() -> None:
    """Provenance follows kinds of words: one that is for /tmp and not for /usr changes files."""
    policy = load_site(None).for_host()
    ground = Ground(policy.territory, (START,), re.compile(""))
    chosen = {
        name
        for name, holds in KINDS.items()
        if holds(literal_word("/tmp/a.tar"), ground) is None
        and holds(literal_word("/usr/share/a.tar"), ground) is not None
    }
    assert chosen >= WRITING
    assert chosen <= CHANGING


def test_a_plan_asks_for_the_other_parts_and_for_earlier_tasks_once_and_only_if_it_must() -> None:
    """A text that neither runs nor changes anything costs no question to the database."""
    asked: list[str] = []

    def elsewhere() -> list[str]:
        asked.append("elsewhere")
        return []

    def remembered() -> dict[Mark, str]:
        asked.append("remembered")
        return {}

    texts = ["ls /srv", "echo a", "cat /srv/x", "uptime", "sh ~/x.sh"]
    plan = PlanGuard(GUARD, texts, elsewhere=elsewhere, remembered=remembered)
    assert all(plan.judge(text).allowed for text in texts[:-1])
    assert asked == []
    assert all(plan.judge(texts[-1]).allowed for _ in range(2))
    assert asked == ["elsewhere", "remembered"]


def test_a_reason_names_the_place_and_the_task_that_left_something_there() -> None:
    """Whoever approves has to know what to look at."""
    marks = {Mark(MarkKind.WRITTEN, "~/x.sh"): "T12"}
    verdict = PlanGuard(GUARD, ["sh ~/x.sh"], remembered=lambda: marks).judge("sh ~/x.sh")
    assert verdict.rule == "written-script"
    assert "~/x.sh" in verdict.reason
    assert "T12" in verdict.reason
    own = PlanGuard(GUARD, ["printf a > ~/x.sh"]).judge("printf a > ~/x.sh; cat ~/x.sh")
    assert own.allowed


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("truncate -s 0 /srv/a.log", "/srv/a.log"),
        ("truncate -c -s 10M /srv/a.log", "/srv/a.log"),
        ("truncate --size 0 /srv/a.log", "/srv/a.log"),
        ("truncate --size=0 /srv/a.log", "/srv/a.log"),
        ("truncate -cs 0 -- /srv/a.log", "/srv/a.log"),
        ("truncate -r /srv/b.log /srv/a.log", "/srv/a.log"),
    ],
)
def test_the_value_of_an_option_is_not_what_is_written(text: str, path: str) -> None:
    """A mark that is wrong asks about the next task that works in that folder."""
    marks = PlanGuard(GUARD, [text]).marks([text])
    assert {mark.path for mark in marks} <= {path}
    written = {use.path for use in GUARD.judge_part(text, "sh").traces.uses}
    assert written <= {path}


@pytest.mark.parametrize("more", ["", "-v data:/data ", "-p 127.0.0.1:80:80 --restart always "])
def test_a_new_container_runs_what_its_image_holds(more: str) -> None:
    """It has no folder of the host, so that nothing of a plan is run."""
    texts = ["printf a > /srv/shop/run.py", f"docker run -d --name shop {more}postgres:16"]
    assert PlanGuard(CONFIGURE, texts).judge(texts[1]).allowed


@pytest.mark.parametrize(
    "run",
    [
        "docker run -d -v /srv/shop:/app postgres:16",
        "docker run -d --volume=/srv/shop:/app postgres:16",
        "cd /srv && docker run -d -v ./shop:/app postgres:16",
        'docker run -d -v "$PWD:/app" postgres:16',
        "docker start shop",
        "docker restart shop",
    ],
)
def test_a_container_that_may_have_a_folder_of_the_host_may_run_what_a_plan_wrote(run: str) -> None:
    texts = ["printf a > /srv/shop/run.py", run]
    assert not PlanGuard(CONFIGURE, texts).judge(run).allowed


@pytest.mark.parametrize("where", ["here", "elsewhere"])
@pytest.mark.parametrize("back", ["rm -f {}", "cp -p {}.bak {}"])
def test_a_way_back_counts_wherever_the_plan_declares_it(where: str, back: str) -> None:
    """As a rollback, or in another step: what is said at submission holds when it runs."""
    path = "/etc/nginx/sites-available/shop"
    write = f"echo 'server {{ listen 80; }}' > {path}"
    more = (back.format(path, path), "nginx -t")
    here, elsewhere = ((write, *more), ()) if where == "here" else ((write,), more)
    assert PlanGuard(CONFIGURE, here, elsewhere=lambda: elsewhere).judge(write).allowed
    alone = PlanGuard(CONFIGURE, [write, "nginx -t"]).judge(write)
    assert alone.rule == "configuration"


def test_what_an_unknown_program_may_have_written_counts_for_others_alone(tmp_path: Path) -> None:
    """A person answers for the program itself, or a rule does; what runs it later asks."""
    unknown = "webctl -d ~/site/run.sh"
    assert PlanGuard(GUARD, [unknown]).judge("sh ~/site/run.sh").rule == "written-script"
    assert [each.kind for each in propose(GUARD, unknown).obstacles] == []
    site = tmp_path / "policy.yaml"
    site.write_text(
        "allow:\n  - reason: the server of the site\n    rules:\n"
        "      - {run: webctl, style: exact, operands: \"'-d' '/srv/site/run.sh'\", directory: .}\n"
    )
    serve = "webctl -d /srv/site/run.sh"
    assert PlanGuard(Guard(load_site(site).for_host()), [serve]).judge(serve).allowed


def test_an_environment_of_python_brings_no_strangers_code() -> None:
    """What is installed into it does."""
    start = "systemctl restart shopd"
    made = "python3 -m venv /srv/shop/venv"
    assert PlanGuard(GUARD, [made, start]).judge(start).allowed
    installed = "/srv/shop/venv/bin/tool --into /srv/shop/venv/lib/x.py"
    assert PlanGuard(GUARD, [installed]).judge("python3 /srv/shop/venv/lib/x.py").rule
