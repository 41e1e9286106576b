"""The diagrams of transitions are current, and what ARCHITECTURE.md names is there."""

import re
from pathlib import Path

import pytest

from orchestrator.core import diagram
from orchestrator.core.transitions import STEP_TRANSITIONS, TASK_TRANSITIONS
from shared.domain.facts import FACTS
from shared.domain.task import StepPhase, TaskPhase

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "ARCHITECTURE.md"
DIAGRAMS = ROOT / "docs" / "transitions.md"
ARROW = re.compile(r"    (?P<old>\w+) --> (?P<new>\w+): (?P<facts>.+)")
Arrow = tuple[str, str, str]


def _arrows(text: str) -> set[Arrow]:
    return {
        (found["old"], fact, found["new"])
        for line in text.splitlines()
        if (found := ARROW.fullmatch(line))
        for fact in found["facts"].split(", ")
    }


def test_the_diagrams_are_current() -> None:
    """Whoever changes a table draws it again (the message says how)."""
    document = DIAGRAMS.read_text(encoding="utf-8")
    assert diagram.renew(document) == document, "python -m orchestrator.core.diagram --write"


def test_a_diagram_shows_the_whole_table_and_nothing_else() -> None:
    """Every entry is an arrow, every arrow an entry."""
    assert _arrows(diagram.diagram(STEP_TRANSITIONS)) == {
        (old.value, fact.__name__, new.value)
        for old, ruled in STEP_TRANSITIONS.items()
        for fact, allowed in ruled.items()
        for new in allowed
    }
    assert _arrows(diagram.diagram(TASK_TRANSITIONS)) == {
        (old.value, fact.__name__, new.value)
        for old, ruled in TASK_TRANSITIONS.items()
        for fact, allowed in ruled.items()
        for new in allowed
    }


def test_a_diagram_begins_and_ends() -> None:
    """Where a step or a task begins, and the phases that nothing follows."""
    steps = diagram.diagram(STEP_TRANSITIONS)
    tasks = diagram.diagram(TASK_TRANSITIONS)
    assert f"    [*] --> {StepPhase.NOT_STARTED}\n" in steps
    assert f"    [*] --> {TaskPhase.SUBMITTED}\n" in tasks
    for text, ended in ((steps, ["done", "cancelled", "replaced"]), (tasks, ["done", "cancelled"])):
        assert re.findall(r"(\w+) --> \[\*\]", text) == ended


def test_checking_says_when_a_document_is_out_of_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """An old diagram is found, the message says what to type, and that puts it right."""
    path = tmp_path / "OLD.md"
    path.write_text(f"before\n{diagram.BEGIN}\nold\n{diagram.END}\nafter\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="1"):
        diagram.main(["--check", str(path)])
    assert f"--write {path}" in capsys.readouterr().err
    diagram.main(["--write", str(path)])
    diagram.main(["--check", str(path)])
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "\nold\n" not in text


@pytest.mark.parametrize("text", ["", diagram.BEGIN, diagram.END, diagram.END + diagram.BEGIN])
def test_a_document_without_both_markers_is_refused_and_left_alone(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clear sentence, no traceback, nothing written."""
    path = tmp_path / "BARE.md"
    path.write_text(text, encoding="utf-8")
    for flag in ("--check", "--write"):
        with pytest.raises(SystemExit, match="2"):
            diagram.main([flag, str(path)])
        assert "must both stand in it" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == text


def test_a_document_that_is_not_there_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for a file that cannot be read."""
    with pytest.raises(SystemExit, match="2"):
        diagram.main(["--check", str(tmp_path / "NONE.md")])
    assert "NONE.md" in capsys.readouterr().err


def test_printing_prints_what_writing_writes(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a flag the diagrams go to the terminal."""
    diagram.main([])
    assert capsys.readouterr().out == diagram.section() + "\n"


def _named_in_the_tree() -> list[str]:
    tree = DOCUMENT.read_text(encoding="utf-8").partition("## The tree")[2].split("```")[1]
    named: list[str] = []
    top = ""
    for line in tree.strip().splitlines():
        names = re.findall(r"[\w/]+(?:/|\.py)(?=\s)", line[:80])
        if not line.startswith(" "):
            top = names[0]
        named += [name if name == top else top + name for name in names]
    return named


def test_what_the_tree_names_is_there() -> None:
    """No folder or module is named that has gone or has not come."""
    named = _named_in_the_tree()
    assert len(named) > 30
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_ring_is_told_in_the_words_of_the_code() -> None:
    """Its second column names facts that exist; and the page names every fact there is."""
    text = DOCUMENT.read_text(encoding="utf-8")
    ring = text.partition("## A task's way round")[2].partition("## The law")[0]
    told = re.findall(r"^\|[^|]+\| `(\w+)`", ring, re.MULTILINE)
    assert len(told) > 10
    assert set(told) <= set(FACTS)
    assert [name for name in FACTS if name not in text] == []
