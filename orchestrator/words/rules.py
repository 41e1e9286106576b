"""Rules that are offered and given with an approval, in words."""

from collections.abc import Iterator

from orchestrator.proposals.obstacles import NoRule
from orchestrator.views.approvals import Offer

_WHY = {
    NoRule.FORBIDDEN: "it is forbidden, or may turn out to be",
    NoRule.UNREADABLE: "what it does is not known to its end",
    NoRule.SECRET: "it has to do with a secret",
    NoRule.CODE: "it runs code that a rule cannot name",
    NoRule.BROUGHT: "it uses files that a plan may have written",
    NoRule.PLACE: "rules for programs open no places: `places` of the policy does",
    NoRule.VARIABLE: "rules for programs open no variables: `variables` of the policy does",
    NoRule.INPUT: "what it reads decides what it does",
    NoRule.UNKNOWN_WORD: "a rule would allow more than what is known",
    NoRule.FLEETING: "a rule would outlive what it names",
    NoRule.NOT_ENOUGH: "it would ask all the same",
    NoRule.WANTED: "a person has to see it, whatever the rules say",
    NoRule.OTHER_POLICY: "rules are made where the executor's policy lies",
}


def name_scope(scope: str) -> str:
    """Where a rule of that scope holds, as the end of a sentence."""
    kind, _, name = scope.partition(":")
    return {"task": "in this task", "host": f"on {name}", "group": f"on hosts of group {name}"}.get(
        kind, "on every host"
    )


def describe_offer(offer: Offer) -> Iterator[tuple[str, str]]:
    """Describe the rules that would have allowed a text, or why none can."""
    if offer.commands:
        yield "a rule", f"would allow {join_commands(offer.commands)}, and nothing else"
        yield "as YAML", offer.policy.rstrip("\n")
    for obstacle in offer.obstacles:
        yield "no rule helps", f"{_WHY[obstacle.kind]}: {obstacle.reason}"


def join_commands(commands: tuple[str, ...]) -> str:
    """Commands in one sentence: `a` and `b`."""
    return " and ".join(f"`{command}`" for command in commands)
