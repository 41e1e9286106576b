"""No Python of ours runs code of the folder that it is started in."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SAFE: Final = {"-P", "-I"}
"""Options with which Python does not look for modules in the current folder."""

TYPED: Final = re.compile(r"bin/python (?P<first>\S+)")
"""How a person, systemd or a container starts it."""

INSTALLS: Final = " -m pip install "


def uses(tree: ast.AST) -> Iterator[tuple[ast.AST, int]]:
    """Whatever begins with this Python, and the line that it is in."""
    for node in ast.walk(tree):
        inside = getattr(node, "elts", None) or getattr(node, "values", None)
        for each in inside if isinstance(inside, list) else ():
            held = each.value if isinstance(each, ast.FormattedValue) else each
            if isinstance(held, ast.expr) and ast.unparse(held) == "sys.executable":
                yield node, held.lineno


def is_safe(node: ast.AST) -> bool:
    """Whether a command line has the option, or is only told: how to install something."""
    match node:
        case (
            ast.Tuple(elts=[_, ast.Constant(str(option)), *_])
            | ast.List(elts=[_, ast.Constant(str(option)), *_])
        ):
            return option in SAFE
        case ast.JoinedStr(values=[_, ast.Constant(str(text)), *_]):
            return text.startswith(INSTALLS)
    return False


def test_every_python_is_started_so_that_it_looks_in_no_current_folder() -> None:
    counted = 0
    for side in ("orchestrator", "workers", "shared", "deploy"):
        for path in (ROOT / side).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if "executable" not in text:
                continue
            found = list(uses(ast.parse(text)))
            assert text.count("sys.executable") == len(found), f"{path}: in another form"
            assert [line for node, line in found if not is_safe(node)] == [], path
            counted += len(found)
    assert counted > 5


def test_so_is_what_an_installation_starts_and_its_guide_tells_to_type() -> None:
    texts = [ROOT / "deploy/README.md", *(ROOT / "deploy/systemd").glob("*.service")]
    typed = [first for path in texts for first in TYPED.findall(path.read_text(encoding="utf-8"))]
    assert typed
    assert set(typed) <= SAFE
    image = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
    assert "PYTHONSAFEPATH=1" in image, "what the image starts has no option"
