"""Where values come from: the file, the environment, `--set`; and which of them wins."""

from pathlib import Path

import pytest

from shared.domain.config import FixMemory, Policy
from shared.domain.errors import Misconfigured
from shared.domain.next_step import command_line
from shared.settings import Settings, load_settings
from shared.settings.keys import KEYS
from shared.wire import from_json

SECRETS = {key.name: key.name.upper() for key in KEYS.values() if key.secret}


def load(tmp_path: Path, text: str | None = None, *sets: str, **environ: str) -> Settings:
    """The settings with that file, those overrides and that environment."""
    file = None
    if text is not None:
        file = tmp_path / "given.toml"
        file.write_text(text)
    return load_settings({"HOME": str(tmp_path), **environ}, file, sets)


def refusal(tmp_path: Path, text: str | None = None, *sets: str, **environ: str) -> str:
    """Why they are refused."""
    with pytest.raises(Misconfigured) as caught:
        load(tmp_path, text, *sets, **environ)
    assert caught.value.stage == "config"
    assert caught.value.next_step
    return caught.value.reason


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Away from any settings file of the one who runs the tests."""
    monkeypatch.chdir(tmp_path)


def test_set_goes_before_the_environment_and_that_before_the_file(tmp_path: Path) -> None:
    text = "[agent]\nmax_retry_count = 5\n"
    key = "max_retry_count"
    of_file = load(tmp_path, text)
    assert (of_file.agent.max_retry_count, of_file.sources[key]) == (
        5,
        str(tmp_path / "given.toml"),
    )
    of_environment = load(tmp_path, text, REPLAN_MAX_RETRY_COUNT="6")
    assert (of_environment.agent.max_retry_count, of_environment.sources[key]) == (
        6,
        "REPLAN_MAX_RETRY_COUNT",
    )
    overridden = load(tmp_path, text, "max_retry_count=7", REPLAN_MAX_RETRY_COUNT="6")
    assert (overridden.agent.max_retry_count, overridden.sources[key]) == (7, "--set")


def test_a_variable_with_its_scope_goes_before_one_without(tmp_path: Path) -> None:
    both = load(tmp_path, REPLAN_AGENT_PLANNER="human", REPLAN_PLANNER="runbook")
    assert both.agent.planner == "human"
    assert both.sources["planner"] == "REPLAN_AGENT_PLANNER"


def test_an_empty_variable_sets_nothing(tmp_path: Path) -> None:
    assert load(tmp_path, REPLAN_MAX_RETRY_COUNT=" ").sources["max_retry_count"] == "default"


def test_of_the_same_override_twice_the_last_counts(tmp_path: Path) -> None:
    assert load(tmp_path, None, "retry_delay=1", "retry_delay=2").agent.retry_delay == 2


def test_files_are_looked_for_in_this_order(tmp_path: Path) -> None:
    def written(path: Path, count: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"[agent]\nmax_retry_count = {count}\n")
        return path

    home = {"HOME": str(tmp_path)}
    written(tmp_path / ".config/replan/config.toml", 1)
    assert load_settings(home).agent.max_retry_count == 1
    written(tmp_path / "replan.toml", 2)
    assert load_settings(home).agent.max_retry_count == 2
    named = written(tmp_path / "named.toml", 3)
    assert load_settings({**home, "REPLAN_CONFIG": str(named)}).agent.max_retry_count == 3
    given = written(tmp_path / "other.toml", 4)
    assert load_settings({**home, "REPLAN_CONFIG": str(named)}, given).agent.max_retry_count == 4


def test_a_named_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"
    assert str(missing) in refusal(tmp_path, REPLAN_CONFIG=str(missing))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[agent\nplanner = 1", "line 1"),
        ("[agent]\nmax_retry_count = five", "line 2"),
        ("[agnet]\nplanner = 'human'", "did you mean [agent]?"),
        ("planner = 'human'", "planner belongs under [agent]"),
        ("agent = 3", "agent must be a section"),
        ("[server]\nplanner = 'human'", "belongs under [agent]"),
        ("[agent]\nplaner = 'human'", "did you mean planner?"),
        ("[agent]\nmax_retry_count = '3'", "a whole number from 1 to 100"),
        ("[agent]\nmax_retry_count = true", "true is not allowed"),
        ("[agent]\nforbidden_commands = 'reboot'", "a list of texts"),
        ("[agent]\nforbidden_commands = [3]", "a list of texts"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_place(
    text: str, told: str, tmp_path: Path
) -> None:
    reason = refusal(tmp_path, text)
    assert told in reason
    assert str(tmp_path / "given.toml") in reason


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "given.toml"
    file.write_bytes(b"\xff\xfe[agent]")
    with pytest.raises(Misconfigured, match="cannot be read"):
        load_settings({"HOME": str(tmp_path)}, file)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("planer=human", "did you mean planner?"),
        ("planner", "must look like key=value"),
        ("lease=10", "belongs to the server scope"),
        ("planner=", "one of anthropic, openai, bedrock"),
        ("error_threshold_per_step=0", "from 1 to 1000"),
        ("anthropic_api_key=abc", "server scope"),
    ],
)
def test_an_override_that_cannot_be_used_is_refused(given: str, told: str, tmp_path: Path) -> None:
    assert told in refusal(tmp_path, None, given)


def test_a_variable_that_is_nearly_one_of_ours_is_refused(tmp_path: Path) -> None:
    told = refusal(tmp_path, REPLAN_MAX_RETRY_COUNTS="3")
    assert "REPLAN_MAX_RETRY_COUNT" in told
    load(tmp_path, REPLAN_TEST_SERVER="another program's")


@pytest.mark.parametrize("key", SECRETS)
def test_a_secret_comes_from_the_environment_alone_and_is_never_shown(
    key: str, tmp_path: Path
) -> None:
    settings = load(tmp_path, **{SECRETS[key]: "sk-hidden"})
    assert settings.value(key) == "sk-hidden"
    assert "sk-hidden" not in repr(settings)
    told = refusal(tmp_path, f"[server]\n{key} = 'sk-hidden'\n")
    assert "sk-hidden" not in told
    assert SECRETS[key] in told


def test_the_addresses_of_the_servers_are_no_part_of_the_settings_text(tmp_path: Path) -> None:
    settings = load(tmp_path, REPLAN_DATABASE_URL="postgresql://me:hunter2@here/db")
    assert "hunter2" not in repr(settings)


def test_without_a_database_it_says_what_can_be_done(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as caught:
        _ = load(tmp_path).server.database_url
    assert "REPLAN_DATABASE_URL" in caught.value.reason
    assert command_line(caught.value.next_step) == "replan up"


def test_folders_in_a_file_begin_where_the_file_lies(tmp_path: Path) -> None:
    settings = load(tmp_path, "[server]\nrunbook_dirs = ['books', '~/more', '/abs']\n")
    assert settings.server.runbook_dirs == (tmp_path / "books", tmp_path / "more", Path("/abs"))


@pytest.mark.parametrize(
    ("said", "means"),
    [
        *(("true", "auto"), ("false", "off"), ("'off'", "off"), ("'hint'", "hint")),
        *(("'auto'", "auto"),),
    ],
)
def test_the_memory_was_a_switch_once(tmp_path: Path, said: str, means: str) -> None:
    """Files, variables and stored policies of older versions go on as they were."""
    assert load(tmp_path, f"[agent]\nfix_memory = {said}\n").agent.fix_memory == means
    assert load(tmp_path, None, f"fix_memory={said.strip(chr(39))}").agent.fix_memory == means
    stored = {"true": True, "false": False}.get(said, said.strip("'"))
    assert from_json(Policy, {"fix_memory": stored}).fix_memory is FixMemory(means)


def test_the_memory_knows_no_other_word(tmp_path: Path) -> None:
    assert "one of off, hint, auto" in refusal(tmp_path, None, "fix_memory=always")


PROVIDED = ("taskmaster", "planner", "subtask_planner")


def test_the_provider_of_models_answers_for_each_role_that_names_no_other(tmp_path: Path) -> None:
    text = '[server]\nmodel_provider = "openai"\n[agent]\nplanner = "runbook"\n'
    found = load(tmp_path, text)
    assert {name: found.value(name) for name in PROVIDED} == {
        "taskmaster": "openai",
        "planner": "runbook",
        "subtask_planner": "openai",
    }
    assert found.sources["subtask_planner"] == "model_provider"
    assert not found.is_given("subtask_planner")


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("anthropic", "claude-sonnet-5-5"),
        ("vertex", "claude-sonnet-5-5"),
        ("foundry", "claude-sonnet-5-5"),
        ("openai", ""),
        ("bedrock", ""),
        ("bedrock-mantle", ""),
    ],
)
def test_the_default_model_is_asked_of_those_who_call_it_so(
    tmp_path: Path, provider: str, model: str
) -> None:
    environ = {"REPLAN_MODEL_PROVIDER": provider}
    assert load(tmp_path, **environ).server.model == model
    assert load(tmp_path, **environ, REPLAN_MODEL="own").server.model == "own"


def test_the_variables_of_the_providers_libraries_are_read(tmp_path: Path) -> None:
    environ = {"OPENAI_BASE_URL": "http://here/v1", "AWS_DEFAULT_REGION": "eu-west-1"}
    server = load(tmp_path, **environ).server
    assert (server.openai_base_url, server.bedrock_region) == ("http://here/v1", "eu-west-1")
    told = refusal(tmp_path, OPENAI_BASE_URL="here:8080")
    assert "an address that begins with https:// or http://" in told
