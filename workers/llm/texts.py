"""Loads the texts of the prompts from the files of this package."""

from functools import cache
from importlib.resources import files

from workers.llm.prompts import PromptTexts

VERSION = "v2"


@cache
def prompt_texts(version: str = VERSION) -> PromptTexts:
    """The texts of that version."""
    folder = files("workers.llm") / "prompts"

    def text(name: str) -> str:
        return (folder / f"{name}.{version}.md").read_text(encoding="utf-8").strip()

    return PromptTexts(
        version=version,
        house=text("house"),
        refine=text("refine"),
        plan=text("plan"),
        detail=text("detail"),
        revise=text("revise"),
        repair=text("repair"),
        advise=text("advise"),
        replan=text("replan"),
        looks=text("looks"),
        examples=text("examples"),
        repositories=text("repositories"),
        agents=text("agents"),
        agents_failed=text("agents_failed"),
        project=text("project"),
    )
