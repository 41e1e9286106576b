"""Text of others enters a question to a model between marks, and in no other way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKER = ROOT / "workers/llm/prompt_text.py"
SOURCES = sorted((ROOT / "workers/llm").rglob("*.py"))


def _calls(path: Path, name: str) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name:
            yield node


def _is_ours(said: ast.expr) -> bool:
    """Whether it is a text of this program: a literal, or a constant that is one."""
    if isinstance(said, ast.Constant):
        return isinstance(said.value, str)
    return isinstance(said, ast.Name) and said.id.isupper()


def _is_file(said: ast.expr) -> bool:
    """Whether it is one of the files of the prompts."""
    return (
        isinstance(said, ast.Attribute)
        and isinstance(said.value, ast.Name)
        and said.value.id == "texts"
    )


def _others(path: Path) -> list[str]:
    """Every place that makes text of ours out of what may be text of others."""
    found = [call for call in _calls(path, "own") if not _is_ours(call.args[0])]
    found += [call for call in _calls(path, "fill") if not _is_file(call.args[0])]
    found += [
        call
        for call in _calls(path, "Turn")
        if isinstance(call.args[0], ast.Attribute) and call.args[0].attr == "USER"
        if path.name != "calls.py"
    ]
    if path != MAKER:
        found += _calls(path, "PromptText")
    return [f"{path.relative_to(ROOT)}:{call.lineno}: {ast.unparse(call)}" for call in found]


def test_only_our_own_sentences_stand_outside_the_marks() -> None:
    assert [place for path in SOURCES for place in _others(path)] == []


@pytest.mark.parametrize(
    "line",
    [
        "own(f'look at {title}')",
        "own(request.facts)",
        "own('look at ' + title)",
        "fill(request.facts)",
        "Turn(Speaker.USER, title)",
        "PromptText(title)",
    ],
)
def test_text_of_others_is_found(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the test above could not fail."""
    monkeypatch.setattr("tests.architecture.test_prompt_text.ROOT", tmp_path)
    (tmp_path / "new.py").write_text(line)
    assert len(_others(tmp_path / "new.py")) == 1
