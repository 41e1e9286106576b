"""Every key that can be set: what it is by itself, what it takes, and what it refuses."""

from pathlib import Path

import pytest

from orchestrator.words.settings import page
from shared.domain.config import Policy
from shared.domain.errors import Misconfigured
from shared.settings import KEYS, Key, KeyScope, ServerSettings, Settings, load_settings

NUMERIC = [key for key in KEYS.values() if key.limits is not None]
CHOOSING = [key for key in KEYS.values() if key.choices]
AGENT = [key for key in KEYS.values() if key.scope is KeyScope.AGENT]


def load(tmp_path: Path, **environ: str) -> Settings:
    """The settings of an environment of its own, with an empty home."""
    return load_settings({"HOME": str(tmp_path), **environ})


def refusal(tmp_path: Path, **environ: str) -> str:
    """Why the settings of that environment are refused."""
    with pytest.raises(Misconfigured) as caught:
        load(tmp_path, **environ)
    assert caught.value.stage == "config"
    assert caught.value.next_step
    return caught.value.reason


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from any settings file of the one who runs the tests."""
    monkeypatch.chdir(tmp_path)


def test_the_keys_of_the_agent_scope_have_the_defaults_that_were_asked_for(tmp_path: Path) -> None:
    """S0.11, S0.12, S0.15 and S0.16, S0.17 name theirs."""
    agent = load(tmp_path).agent
    assert agent.error_threshold_per_step == 4
    assert agent.max_retries_per_command == 2
    assert agent.human_escalation_threshold == 3
    assert agent.forbidden_commands == ()
    assert agent.dry_run_mode is False
    assert agent == Policy()


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_numbers_have_a_unit_and_nothing_else_has(key: Key) -> None:
    assert bool(key.unit) is (key.limits is not None)


def test_the_page_of_settings_is_current() -> None:
    """`make settings-page` writes it."""
    written = (Path(__file__).parents[3] / "docs/settings.md").read_text(encoding="utf-8")
    assert written == page()
    named = {key.variables[0] if key.secret else key.name for key in KEYS.values()}
    assert [name for name in named if f"| `{name}` |" not in written] == []


@pytest.mark.parametrize("key", KEYS.values(), ids=lambda key: key.name)
def test_every_key_says_what_it_is_and_where_its_default_came_from(
    key: Key, tmp_path: Path
) -> None:
    settings = load(tmp_path)
    assert key.about
    assert settings.sources[key.name] == "default"
    if key.name != "data_dir":
        assert settings.value(key.name) == key.default


@pytest.mark.parametrize("backend", ["runbook", "human"])
def test_who_cannot_improve_a_prompt_is_no_taskmaster(backend: str, tmp_path: Path) -> None:
    """A library knows its own jobs only, and a person has written the prompt."""
    told = refusal(tmp_path, REPLAN_TASKMASTER=backend)
    assert "taskmaster" in told
    assert "anthropic" in told


def test_workspaces_are_in_a_folder_that_every_host_understands(tmp_path: Path) -> None:
    """The home is the account's on the host, not the one here."""
    assert load(tmp_path, REPLAN_WORKSPACES="~/agents").server.workspaces == "~/agents"
    told = refusal(tmp_path, REPLAN_WORKSPACES="agents")
    assert "'agents' is not allowed; allowed: a folder that begins with / or ~/" in told


def test_the_data_folder_is_in_the_users_data_folder(tmp_path: Path) -> None:
    assert load(tmp_path).server.data_dir == tmp_path / ".local/share/replan"
    elsewhere = load(tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))
    assert elsewhere.server.data_dir == tmp_path / "data/replan"


def test_both_scopes_exist_and_share_no_name() -> None:
    """S0.9."""
    fields = {*ServerSettings.__slots__, *Policy.__slots__}
    assert {key.field for key in KEYS.values()} == fields
    assert len(KEYS) == len(ServerSettings.__slots__) + len(Policy.__slots__)


@pytest.mark.parametrize("key", NUMERIC, ids=lambda key: key.name)
def test_both_limits_are_allowed_and_what_lies_beyond_is_not(key: Key, tmp_path: Path) -> None:
    assert key.limits is not None
    low, high = key.limits
    apart = {
        "heartbeat": {"REPLAN_LEASE": "3600"},
        "lease": {"REPLAN_HEARTBEAT": "0.5"},
        "poll": {"REPLAN_LIVENESS": "3600"},
        "liveness": {"REPLAN_POLL": "0.1"},
    }
    for limit in (low, high):
        given = {key.variables[0]: f"{limit:g}"} | apart.get(key.name, {})
        assert load(tmp_path, **given).value(key.name) == limit
    for beyond in (low - 1, high + 1):
        told = refusal(tmp_path, **{key.variables[0]: f"{beyond:g}"})
        assert key.name in told
        assert f"{beyond:g}" in told
        assert f"from {low:g} to {high:g}" in told


@pytest.mark.parametrize("key", CHOOSING, ids=lambda key: key.name)
def test_every_choice_is_taken_and_nothing_else(key: Key, tmp_path: Path) -> None:
    for choice in key.choices:
        assert load(tmp_path, **{key.variables[0]: choice}).value(key.name) == choice
    told = refusal(tmp_path, **{key.variables[0]: "nobody"})
    assert key.name in told
    assert "'nobody'" in told
    for choice in key.choices:
        assert choice in told


@pytest.mark.parametrize("key", AGENT, ids=lambda key: key.name)
def test_every_key_of_a_task_can_be_set_for_it(key: Key, tmp_path: Path) -> None:
    texts = {"true or false": "true", "a whole number": "2", "a number": "2.5"}
    if key.limits is not None and key.limits[1] < 2.5:
        texts["a number"] = "0.5"
    text = key.choices[0] if key.choices else texts.get(key.kind.value, "reboot, halt")
    settings = load(tmp_path).with_agent([f"{key.name}={text}"])
    assert settings.sources[key.name] == "--set"
    expected = {"true": True, "2": 2, "2.5": 2.5, "0.5": 0.5, "reboot, halt": ("reboot", "halt")}
    assert settings.value(key.name) == expected.get(text, text)


@pytest.mark.parametrize("own", ["", "reboot", "halt", "halt, poweroff", "/opt/x --now"])
def test_a_task_forbids_more_and_never_less(own: str, tmp_path: Path) -> None:
    """Whatever it says, what the installation forbids is forbidden."""
    installed = load(tmp_path, REPLAN_FORBIDDEN_COMMANDS="reboot, halt")
    found = installed.with_agent([f"forbidden_commands={own}"]).agent.forbidden_commands
    assert found[:2] == ("reboot", "halt")
    assert set(found[2:]) == {word.strip() for word in own.split(",")} - {"reboot", "halt", ""}
    assert len(set(found)) == len(found)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("dry_run_mode", "perhaps"),
        ("dry_run_mode", "2"),
        ("error_threshold_per_step", "4.5"),
        ("error_threshold_per_step", "four"),
        ("retry_delay", "nan"),
        ("retry_delay", "inf"),
        ("database_url", "mysql://somewhere/db"),
        ("broker_url", "somewhere:6379"),
        ("forbidden_commands", '["reboot"'),
    ],
)
def test_values_of_another_kind_are_refused(name: str, text: str, tmp_path: Path) -> None:
    told = refusal(tmp_path, **{KEYS[name].variables[0]: text})
    assert name in told
    assert KEYS[name].allowed in told


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", True),
        ("YES", True),
        ("1", True),
        ("off", False),
        ("No", False),
        ("0", False),
    ],
)
def test_flags_are_read_as_people_write_them(text: str, value: bool, tmp_path: Path) -> None:
    assert load(tmp_path, REPLAN_DRY_RUN_MODE=text).agent.dry_run_mode is value


def test_a_lease_shorter_than_two_heartbeats_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, REPLAN_LEASE="5", REPLAN_HEARTBEAT="3")
    assert "lease=5 (REPLAN_LEASE)" in told
    assert "heartbeat=3 (REPLAN_HEARTBEAT)" in told
    assert load(tmp_path, REPLAN_LEASE="6", REPLAN_HEARTBEAT="3").server.lease == 6


def test_a_worker_may_not_count_as_dead_between_two_looks_for_jobs(tmp_path: Path) -> None:
    told = refusal(tmp_path, REPLAN_LIVENESS="15", REPLAN_POLL="10")
    assert "liveness=15 (REPLAN_LIVENESS)" in told
    assert "poll=10 (REPLAN_POLL)" in told
    assert load(tmp_path, REPLAN_LIVENESS="20", REPLAN_POLL="10").server.liveness == 20


def test_an_address_that_is_refused_does_not_show_its_password(tmp_path: Path) -> None:
    told = refusal(tmp_path, REPLAN_DATABASE_URL="mysql://me:hunter2@somewhere/db")
    assert "hunter2" not in told
    assert "mysql://" in told


def test_every_fault_is_told_at_once(tmp_path: Path) -> None:
    told = refusal(tmp_path, REPLAN_PLANNER="nobody", REPLAN_MAX_RETRY_COUNT="0")
    assert "planner" in told
    assert "max_retry_count" in told


def test_bundles_of_deliveries_are_in_the_data_folder(tmp_path: Path) -> None:
    """Of `replan up`, too: without a word about it."""
    server = load(tmp_path, REPLAN_DATA_DIR="/var/lib/replan").server
    assert server.delivery_store is None
    assert server.delivery_place == "/var/lib/replan/deliveries"
    assert load(tmp_path, REPLAN_DELIVERY_STORE="").server.delivery_store is None


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ("/srv/deliveries", "/srv/deliveries"),
        ("~/deliveries", "HOME/deliveries"),
        ("deliveries", "HOME/deliveries"),
        ("s3://our-bucket", "s3://our-bucket"),
        ("s3://our.bucket/team/a b", None),
        ("s3://our-bucket/team-1/", "s3://our-bucket/team-1/"),
        ("s3://", None),
        ("s3://KEY:hunter2@bucket/x", None),
        ("https://hunter2@minio/bucket", None),
    ],
)
def test_bundles_of_deliveries_are_in_a_folder_or_a_bucket(
    given: str, place: str | None, tmp_path: Path
) -> None:
    if place is None:
        told = refusal(tmp_path, REPLAN_DELIVERY_STORE=given)
        assert "s3://BUCKET/PREFIX" in told
        assert "hunter2" not in told
    else:
        server = load(tmp_path, REPLAN_DELIVERY_STORE=given).server
        assert server.delivery_place == place.replace("HOME", str(tmp_path))
