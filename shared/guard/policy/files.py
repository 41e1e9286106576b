"""Policy files as people write them, and the errors for bad ones."""

from typing import Annotated, Self
from typing import Literal as Choice

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document
from shared.guard.policy.notation import options, slots
from shared.guard.policy.operands import kind_of


def _as_list(run: object) -> object:
    return [run] if isinstance(run, str) else run


class RuleText(Document):
    """One program with its sub-command and its allowed arguments (`docs/policies.md`)."""

    run: Annotated[list[str], BeforeValidator(_as_list)]
    flags: str = ""
    before: str | None = None
    operands: str = ""
    style: Choice["letters", "words"] = "letters"
    bundle: bool = False
    shell: bool = False
    loose: bool = False
    code: bool = False
    brings: bool = False
    pairs: dict[str, str] = Field(default_factory=dict)
    needs: list[str] = Field(default_factory=list)
    needs_one: list[str] = Field(default_factory=list)

    @property
    def runs(self) -> tuple[tuple[str, ...], ...]:
        """Each program with its sub-commands."""
        return tuple(tuple(run.split()) for run in self.run)

    @model_validator(mode="after")
    def _known_notation(self) -> Self:
        try:
            if not self.runs or not all(self.runs):
                raise ValueError("`run` names no program")
            for kind in self._kinds():
                if kind_of(kind) is None:
                    raise ValueError(f"{kind!r} is not a kind of operand or value")
        except ValueError as error:
            raise PydanticCustomError("notation", "{told}", {"told": str(error)}) from error
        return self

    def _kinds(self) -> list[str]:
        kinds = [slot.kind for slot in slots(self.operands)] + list(self.pairs.values())
        for text in (self.flags, self.before or ""):
            kinds += [option.value for option in (options(text) or {}).values() if option.value]
        return kinds


def _in_full(rule: object) -> object:
    """A rule that is plain text allows any words after it."""
    if isinstance(rule, str):
        return {"run": rule, "flags": "any", "operands": "any*", "loose": True}
    return rule


class AllowText(Document):
    """Programs that are allowed for one reason."""

    reason: str = Field(min_length=8)
    rules: list[Annotated[RuleText, BeforeValidator(_in_full)]] = Field(min_length=1)


class ForbidText(Document):
    """Entries as in `forbidden_commands`, with the reason that people see."""

    reason: str = Field(min_length=8)
    rules: list[str] = Field(min_length=1)


class PlacesText(Document):
    """Places in addition to those of the levels below (`shared.guard.policy.territory`)."""

    write: list[str] = Field(default_factory=list)
    delete: list[str] = Field(default_factory=list)
    purge: list[str] = Field(default_factory=list)
    devices: list[str] = Field(default_factory=list)
    dotfiles: list[str] = Field(default_factory=list)
    fixed: list[str] = Field(default_factory=list)
    secret: list[str] = Field(default_factory=list)
    code: list[str] = Field(default_factory=list)


class ChecksText(Document):
    """Commands with their expected verdicts: a policy that gives another one is refused."""

    allow: list[str] = Field(default_factory=list)
    approve: list[str] = Field(default_factory=list)
    deny: list[str] = Field(default_factory=list)


class LevelText(Document):
    """The rules of one level: for everything, for a group of hosts, or for one host."""

    profiles: list[str] | None = None
    allow: list[AllowText] = Field(default_factory=list)
    forbid: list[ForbidText] = Field(default_factory=list)
    variables: list[str] = Field(default_factory=list)
    places: PlacesText = Field(default_factory=PlacesText)
    programs: list[str] = Field(default_factory=list)
    checks: ChecksText = Field(default_factory=ChecksText)
    unlisted: Choice["approve", "allow"] | None = None


class GroupText(LevelText):
    """A level for the hosts whose names match one of `hosts` (`web*`)."""

    hosts: list[str] = Field(min_length=1)


class SiteText(LevelText):
    """The policy file of a site."""

    groups: dict[str, GroupText] = Field(default_factory=dict)
    hosts: dict[str, LevelText] = Field(default_factory=dict)


class ProfileText(Document):
    """A shipped profile."""

    about: str
    includes: list[str] = Field(default_factory=list)
    allow: list[AllowText]
