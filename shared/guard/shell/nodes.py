"""What single nodes of shfmt's JSON say: only this module and `convert.py` know that format."""

from collections.abc import Iterator
from typing import Any

from shared.guard.shell.tree import ParameterUse

Node = dict[str, Any]
"""A node of shfmt's JSON."""


def tested_words(node: Node) -> Iterator[tuple[str, Node]]:
    """Each word between `[[` and `]]`, with the operator that it belongs to."""
    waiting = [("", node)]
    while waiting:
        operator, here = waiting.pop()
        if here["Type"] == "Word":
            yield operator, here
        else:
            own = here.get("Op", "")
            waiting += [(own, here[side]) for side in ("Y", "X") if here.get(side)]


def set_name(node: Node) -> Iterator[str]:
    """The name of the variable that an operand of arithmetic is, if it is nothing else."""
    match node.get("Parts"):
        case [{"Type": "Lit", "Value": str(name)}]:
            yield name
        case [{"Type": "ParamExp", "Param": {"Value": str(name)}} as element]:
            if not element.get("Dollar"):  # `a[i]`; the value of `$x` would be the name
                yield name


def use_of_parameter(node: Node) -> ParameterUse:
    """What is done with the value of a parameter besides taking a part of it."""
    match node.get("Exp"):
        case {"Op": "@", "Word": {"Parts": [{"Value": str(how)}]}} if how != "P":
            return "value"
        case {"Op": "@"}:
            return "prompt"
    if node.get("Length"):
        return "length"
    return "name" if node.get("Excl") and not (node.get("Names") or node.get("Index")) else "value"
