"""Policy files: what they add, on which level, and which are refused (X18)."""

from pathlib import Path

import pytest

from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.guard import Guard, PlanGuard, load_site
from shared.guard.policy.policy import PROFILES

SITE = """
profiles: [read-only]
allow:
  - reason: our own deployment
    rules:
      - /opt/app/bin/deploy.sh
      - {run: deploy status, flags: "-q --json", operands: "name"}
forbid:
  - reason: the deployment of others
    rules: [otherdeploy]
groups:
  web:
    hosts: ["web*"]
    profiles: [services]
    forbid: [{reason: nobody rolls back here, rules: [deploy rollback]}]
hosts:
  web7:
    allow: [{reason: only this one builds, rules: [{run: build, operands: "name"}]}]
    places: {write: [/etc/app]}
checks:
  allow: [/opt/app/bin/deploy.sh --now, deploy status x]
  deny: [otherdeploy x]
  approve: [systemctl restart app]
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The file of a site."""
    path = tmp_path / "policy.yaml"
    path.write_text(SITE.replace("  approve: [systemctl restart app]\n", ""))
    return path


@pytest.mark.parametrize(
    ("host", "command", "kind"),
    [
        (None, "/opt/app/bin/deploy.sh --anything", "allow"),
        (None, "deploy status -q app", "allow"),
        (None, "deploy status --force app", "approve"),
        (None, "deploy remove app", "approve"),
        (None, "otherdeploy", "deny"),
        (None, "systemctl restart app", "approve"),
        (None, "touch x", "approve"),
        ("web1", "systemctl restart app", "allow"),
        ("web1", "deploy rollback", "deny"),
        ("db1", "deploy rollback", "approve"),
        ("db1", "systemctl restart app", "approve"),
        ("web7", "build app", "allow"),
        ("web1", "build app", "approve"),
        ("web7", "echo a > /tmp/x", "allow"),
        ("web7", "echo a > /etc/app/x", "allow"),
        ("web1", "echo a > /etc/app/x", "approve"),
        ("web7", "rm -rf /", "deny"),
    ],
)
def test_a_site_adds_to_what_ships_for_all_for_groups_and_for_hosts(
    written: Path, host: str | None, command: str, kind: str
) -> None:
    """The most specific level chooses the profile; deny rules of every level hold."""
    assert Guard(load_site(written).for_host(host)).judge(command).kind.value == kind


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("profiles: [nosuch]", "line 1: profiles: there is no profile 'nosuch'"),
        ("allow: 3", "line 1"),
        ("alow: []", "allow"),
        ("allow: [{reason: long enough, rules: [{run: x, flags: y}]}]", "'y' is not an option"),
        ("allow: [{reason: long enough, rules: [{run: x, flags: -a -a}]}]", "stands twice"),
        ("allow: [{reason: long enough, rules: [{run: x, operands: nokind}]}]", "nokind"),
        ("allow: [{reason: long enough, rules: [{run: x, operands: any* read*}]}]", "repeated"),
        ("allow: [{reason: x, rules: [y]}]", "reason"),
        ("allow:\n - reason: long enough\n   rules: [a b]\nforbid:\n - reason: long enough\n"
         "   rules: [a  b]", "line 3"),
        ("hosts:\n  h:\n    profiles: [x]", "line 3"),
        ("a: [", "YAML"),
        ("", "empty"),
    ],
)  # fmt: skip
def test_a_bad_file_is_refused_with_its_place(tmp_path: Path, text: str, told: str) -> None:
    """File, line, reason, and the command to type."""
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(Misconfigured) as refused:
        load_site(path)
    assert str(path) in refused.value.reason
    assert told in refused.value.reason
    assert refused.value.stage == "guard"
    assert command_line(refused.value.next_step) == "replan guard rules --help"


@pytest.mark.parametrize(
    "text", ["checks: {allow: [rm -rf /]}", "checks: {approve: [ls]}", "checks: {deny: [nosuch x]}"]
)
def test_a_policy_that_denies_its_own_checks_is_refused(tmp_path: Path, text: str) -> None:
    """It says of a command what it does not do."""
    path = tmp_path / "policy.yaml"
    path.write_text(text)
    with pytest.raises(Misconfigured, match="denies its own check") as refused:
        Guard(load_site(path).for_host())
    assert str(path) in refused.value.reason


def test_the_version_changes_with_every_rule_and_with_nothing_else(written: Path) -> None:
    """Hosts of one policy share it."""
    site = load_site(written)
    versions = [site.for_host(name).version for name in (None, "db1", "web1", "web2", "web7")]
    assert versions[0] == versions[1]
    assert versions[2] == versions[3]
    assert len(set(versions)) == 3
    assert load_site(written).for_host().version == versions[0]
    assert site.for_host(forbidden=["x"]).version != versions[0]
    written.write_text(written.read_text().replace("-q --json", "-q"))
    assert load_site(written).for_host().version != versions[0]


@pytest.mark.parametrize(
    ("profile", "allowed", "asks"),
    [
        ("strict", ["df -h", "test -f x", "systemctl is-active x"], ["cat x", "ls", "touch x"]),
        ("read-only", ["cat x", "curl http://localhost/"], ["touch x", "systemctl restart x"]),
        ("files", ["touch x", "rm -rf build"], ["apt-get install -y x", "./run"]),
        ("packages", ["apt-get install -y nginx"], ["touch x", "systemctl restart x"]),
        ("services", ["systemctl restart x"], ["touch x", "apt-get install -y x"]),
        ("project", ["./run", "make test", "touch x"], ["systemctl restart x"]),
        (
            "configure",
            ["./run", "touch x", "systemctl restart x", "timedatectl set-timezone UTC"],
            ["reboot-now", "echo x > /etc/passwd-"],
        ),
    ],
)
def test_each_profile_allows_what_its_name_says(
    tmp_path: Path, profile: str, allowed: list[str], asks: list[str]
) -> None:
    """And no more."""
    assert profile in PROFILES
    path = tmp_path / "policy.yaml"
    path.write_text(f"profiles: [{profile}]")
    guard = Guard(load_site(path).for_host())
    assert [text for text in allowed if not guard.judge(text).allowed] == []
    assert [text for text in asks if guard.judge(text).kind.value != "approve"] == []


def test_profiles_that_are_named_stand_in_for_those_of_the_policy(written: Path) -> None:
    """The rules of the site, its groups and hosts hold as before."""
    site = load_site(written)
    strict, configure = (site.for_host("web1", (), (name,)) for name in ("strict", "configure"))
    assert Guard(strict).judge("systemctl restart app").kind.value == "approve"
    assert Guard(configure).judge("systemctl restart app").allowed
    assert Guard(strict).judge("deploy status x").allowed
    with pytest.raises(Misconfigured, match="there is no profile 'nosuch'"):
        site.for_host(None, (), ("nosuch",))


def test_what_one_command_of_a_plan_writes_another_does_not_run_unseen() -> None:
    """Whatever their order; a plan that writes nothing runs what is there."""
    guard = Guard(load_site(None).for_host())
    for writes in (
        "cp a run.sh",
        "git pull",
        "echo a > Makefile",
        "tar xf a -C d",
        "git clone https://e.com/x",
        "nosuch",
    ):
        plan = PlanGuard(guard, [writes, "make test", "./run.sh", "ls"])
        assert [plan.judge(text).rule for text in ("make test", "./run.sh")] == [
            "written-script"
        ] * 2
        assert plan.judge("ls").allowed
        assert plan.version == guard.version
    for harmless in ("echo a > /tmp/x", "ls > out.log", "mkdir -p d", "systemctl restart x"):
        assert PlanGuard(guard, [harmless]).judge("make test").allowed


def test_an_explanation_names_the_rule_for_every_program() -> None:
    """And what its words resolved to."""
    guard = Guard(load_site(None).for_host())
    told = guard.explain('d=/srv/app; sudo cat "$d/x"; nosuch')
    runs = {" ".join(map(str, f.run.argv)): f for f in told.findings if f.run.argv}
    assert runs["cat /srv/app/x"].allowance is not None
    assert runs["nosuch"].doubt is not None
    assert told.verdict.rule == "unlisted-program"


def test_many_commands_are_judged_as_each_would_be_alone() -> None:
    """Texts that reach into each other are told apart."""
    texts = [
        "ls; cat x", "echo 'a", "b'; reboot", "cat <<E", "x\nE", "if true; then", "ls; fi",
        "echo a &&", "rm -rf / &", "f()", "{ ls; }", "echo $(", ")", "ls | ", "cat; ls", "é; ls",
        "echo a # b", "case x in", "y) ls;; esac", "ls \\", "{", "}", "x=1; ls", "! ls; true",
        "__replan_next", "ls;\n__replan_next", "echo `", "`; ls", "((", "))", "",
    ]  # fmt: skip
    policy = load_site(None).for_host()
    for interpreter in ("sh", "bash"):
        together = Guard(policy).judge_all(texts, interpreter)
        alone = [Guard(policy).judge(text, interpreter) for text in texts]
        assert together == alone


def test_what_another_part_of_the_plan_writes_is_not_run_unseen_either() -> None:
    """The other parts are read once, and only where something runs that they may have written."""
    guard = Guard(load_site(None).for_host())
    asked: list[str] = []

    def elsewhere() -> list[str]:
        asked.append("asked")
        return ["cp a run.sh"]

    plan = PlanGuard(guard, ["ls", "make test"], elsewhere=elsewhere)
    assert plan.judge("ls").allowed
    assert asked == []
    assert [plan.judge("make test").rule for _ in range(2)] == ["written-script"] * 2
    assert asked == ["asked"]
    assert PlanGuard(guard, ["ls"], elsewhere=lambda: ["ls"]).judge("make test").allowed


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("cd /srv/app && make test", True),
        ("make -C /srv/app test", True),
        ("make -C sub test", True),
        ("cd /tmp/x && make test", False),
        ("make -C /tmp/x test", False),
        ("cd /tmp/x; npm test", False),
        ("cd /var/tmp && pytest", False),
        ("cd $WHEREVER && make", False),
    ],
)
def test_a_project_is_built_where_projects_lie(command: str, allowed: bool) -> None:
    """Anybody may write to /tmp, and what is written there is not read for what it may run."""
    assert Guard(load_site(None).for_host()).judge(command).allowed is allowed
