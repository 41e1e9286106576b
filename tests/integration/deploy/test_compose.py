"""docker-compose.yml keeps the promises of a deployment; what is written there is what counts."""

import re
from pathlib import Path
from typing import Any

from shared.domain.jobs import ROLES, QueueName

Services = dict[str, dict[str, Any]]

ONE_SHOT = {"migrate", "cli"}
FOREIGN = {"postgres", "redis"}
HOST_KEYS = {"executor", "escalation", "cli"}
"""Who opens connections to hosts: passes, the snapshot of the evidence, and enrolment."""


def conditions(service: dict[str, Any]) -> dict[str, str]:
    """What a service waits for."""
    return {name: each["condition"] for name, each in service.get("depends_on", {}).items()}


def environment(service: dict[str, Any]) -> dict[str, str]:
    """The environment of a service."""
    return dict(service.get("environment", {}))


def mounts(service: dict[str, Any]) -> list[str]:
    """The volumes of a service, as they are written."""
    return list(service.get("volumes", []))


def test_every_part_of_the_product_is_a_service(services: Services) -> None:
    assert set(services) == {*FOREIGN, *ONE_SHOT, *ROLES, "coordinator", "flower"}


def test_there_is_one_worker_service_for_each_queue(services: Services) -> None:
    """D.5: each starts the role that it is named after, and every queue has its role."""
    assert {ROLES[name] for name in ROLES if name in services} == set(QueueName)
    for role in ROLES:
        assert services[role]["command"] == ["worker", "start", role]


def test_every_service_that_stays_has_a_health_check(services: Services) -> None:
    for name in set(services) - ONE_SHOT:
        check = services[name]["healthcheck"]
        assert check["test"][0] in {"CMD", "CMD-SHELL"}, name
        assert {"interval", "timeout", "retries"} <= set(check), name


def test_every_service_that_stays_is_started_again_when_it_ends(services: Services) -> None:
    for name in set(services) - ONE_SHOT:
        assert services[name]["restart"] == "unless-stopped", name


def test_nothing_of_ours_starts_before_the_database_is_migrated(services: Services) -> None:
    assert conditions(services["migrate"]) == {"postgres": "service_healthy"}
    assert services["migrate"]["restart"] == "no"
    for name in {*ROLES, "coordinator", "cli"}:
        assert conditions(services[name]) == {
            "postgres": "service_healthy",
            "redis": "service_healthy",
            "migrate": "service_completed_successfully",
        }, name
    assert conditions(services["flower"]) == {"redis": "service_healthy"}


def test_our_containers_have_no_rights_and_a_read_only_root(services: Services) -> None:
    for name in set(services) - FOREIGN:
        service = services[name]
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["init"] is True, name
        assert not service.get("privileged"), name
        assert not any("docker.sock" in mount for mount in mounts(service)), name


def test_the_servers_have_no_more_rights_than_they_need(services: Services) -> None:
    for name in FOREIGN:
        assert services[name]["cap_drop"] == ["ALL"], name
        assert services[name]["security_opt"] == ["no-new-privileges:true"], name
    assert services["redis"]["user"] == "65534:65534"
    assert services["redis"]["read_only"] is True


def test_flower_is_deployed_behind_a_password_alone(services: Services) -> None:
    """The one way to start it reads the options that refuse to start without one."""
    words = [*services["flower"]["entrypoint"], *services["flower"]["command"]]
    assert words[-1] == "--conf=/opt/replan/flower/flower_options.py"
    assert not [word for word in words if "auth" in word]
    password = environment(services["flower"])["FLOWER_BASIC_AUTH"].partition(":")[2]
    assert ":?" in password
    assert not [name for name in environment(services["flower"]) if "UNAUTHENTICATED" in name]


def test_only_flower_is_published_and_only_on_loopback(services: Services) -> None:
    published = {name: each["ports"] for name, each in services.items() if "ports" in each}
    assert set(published) == {"flower"}
    assert all(port.startswith("127.0.0.1:") for port in published["flower"])
    assert not any("network_mode" in each for each in services.values())


def test_executors_can_be_many(services: Services) -> None:
    """D.10: nothing ties the service to one container."""
    assert "container_name" not in services["executor"]
    assert "hostname" not in services["executor"]
    assert "ports" not in services["executor"]


def test_redis_is_bounded_and_needs_its_password(services: Services) -> None:
    redis = services["redis"]
    script = redis["command"][-1]
    assert "requirepass $$REDIS_PASSWORD" in script
    assert re.search(r"^maxmemory 256mb$", script, re.MULTILINE)
    assert redis["mem_limit"] == "384m"


def test_private_keys_are_mounted_read_only_where_hosts_are_reached(services: Services) -> None:
    with_keys = {
        name for name, each in services.items() if any("/keys" in mount for mount in mounts(each))
    }
    assert with_keys == HOST_KEYS
    for name in with_keys:
        (keys,) = (mount for mount in mounts(services[name]) if ":/keys" in mount)
        assert keys.endswith(":/keys:ro")


def test_only_the_command_line_sees_the_key_that_signs_approvals(services: Services) -> None:
    """And executors know whose approvals to accept: they never take the database's word."""
    sees = {
        name
        for name, each in services.items()
        if any("approver" in mount.lower() for mount in mounts(each))
    }
    assert sees == {"cli"}
    assert environment(services["cli"])["REPLAN_APPROVAL_KEY_DIR"] == "/approver"
    keys = environment(services["executor"])["REPLAN_APPROVAL_KEYS"]
    assert keys == "${REPLAN_APPROVAL_KEYS:-}"


def test_only_planning_workers_get_the_key_of_the_model(services: Services) -> None:
    with_key = {name for name, each in services.items() if "ANTHROPIC_API_KEY" in environment(each)}
    assert with_key == {"taskmaster", "planner", "subtask_planner"}


def test_only_who_needs_the_database_knows_its_password(services: Services) -> None:
    assert not any(
        "POSTGRES_PASSWORD" in value for value in environment(services["flower"]).values()
    )
    assert not any("POSTGRES" in value for value in environment(services["redis"]).values())


def test_every_password_has_to_be_given(root: Path) -> None:
    """`docker compose` refuses to start and says what to do; none has a default."""
    text = (root / "docker-compose.yml").read_text()
    given = re.findall(r"\$\{(\w*PASSWORD)([^}]*)\}", text)
    assert {name for name, _ in given} == {"POSTGRES_PASSWORD", "REDIS_PASSWORD", "FLOWER_PASSWORD"}
    assert {rest for _, rest in given} == {":?run deploy/make-env first"}


def test_no_password_is_written_down(services: Services) -> None:
    """Every value that is a password, or an address with one, takes it from a variable."""
    for name, service in services.items():
        for key, value in environment(service).items():
            password = re.search(r"://[^:/@]*:(\$\{[^}]*\}|[^@]*)@", value)
            if password:
                assert re.fullmatch(r"\$\{\w+:\?[^}]*\}", password[1]), (name, key)
            elif re.search(r"PASSWORD|API_KEY|TOKEN|BASIC_AUTH", key):
                assert re.fullmatch(r"(\$\{\w+(:[-?][^}]*)?\}:?)+", value), (name, key)


def test_no_image_comes_from_a_named_registry(services: Services) -> None:
    for name, service in services.items():
        assert "/" not in service["image"], name


def test_who_stores_deliveries_and_who_looks_at_them_share_a_store(services: Services) -> None:
    for name in ("executor", "cli"):
        assert environment(services[name])["REPLAN_DELIVERY_STORE"] == "/deliveries"
        assert "deliveries:/deliveries" in mounts(services[name])
