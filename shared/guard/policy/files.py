"""Policy files as people write them, and the errors for bad ones."""

import re
from typing import Annotated, Self
from typing import Literal as Choice

from pydantic import BeforeValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from shared.contracts.complaints import Document
from shared.domain.containment import ContainmentRule, Networks
from shared.guard.policy.notation import options, slots
from shared.guard.policy.operands import kind_of
from shared.guard.reach import WrittenNeed

_WAY = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\*?|\*")
"""How a program consumes a secret: `input`, or a variable; `*` ends the beginning of a name."""


def _as_list(run: object) -> object:
    return [run] if isinstance(run, str) else run


class RuleText(Document):
    """One program with its sub-command and its allowed arguments (`docs/policies.md`)."""

    run: Annotated[list[str], BeforeValidator(_as_list)]
    flags: str = ""
    before: str | None = None
    operands: str = ""
    style: Choice["letters", "words", "exact"] = "letters"
    directory: Annotated[list[str], BeforeValidator(_as_list)] = Field(default_factory=list)
    bundle: bool = False
    shell: bool = False
    loose: bool = False
    code: bool = False
    brings: bool = False
    elsewhere: bool = False
    within: list[str] = Field(default_factory=list)
    arrives: bool = False
    pairs: dict[str, str] = Field(default_factory=dict)
    needs: list[str] = Field(default_factory=list)
    needs_one: list[str] = Field(default_factory=list)
    consumes: list[str] = Field(default_factory=list)
    input: Choice["idle", "asks"] | None = None

    @property
    def runs(self) -> tuple[tuple[str, ...], ...]:
        """Each program with its sub-commands."""
        return tuple(tuple(run.split()) for run in self.run)

    @model_validator(mode="after")
    def _known_notation(self) -> Self:
        try:
            if not self.runs or not all(self.runs):
                raise ValueError("`run` names no program")
            for way in self.consumes:
                if not _WAY.fullmatch(way):
                    raise ValueError(f"{way!r} is neither `input` nor the name of a variable")
            self._check_exact()
            for kind in self._kinds():
                if kind_of(kind) is None:
                    raise ValueError(f"{kind!r} is not a kind of operand or value")
        except ValueError as error:
            raise PydanticCustomError("notation", "{told}", {"told": str(error)}) from error
        return self

    def _check_exact(self) -> None:
        """Raise ValueError for keys that say nothing in a rule of this style."""
        if self.style != "exact":
            if self.directory:
                raise ValueError("`directory` belongs to a rule of `style: exact`")
            return
        if not self.directory:
            raise ValueError("a rule of `style: exact` names its `directory`")
        if self.flags or self.before or self.needs or self.needs_one or self.pairs:
            raise ValueError("in `style: exact` the options stand among the `operands`")
        if any(slot.count != "1" for slot in slots(self.operands)):
            raise ValueError("in `style: exact` each of the `operands` stands once")

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


class TestsText(Document):
    """Commands with the verdicts that they must get: a policy that gives another is refused."""

    allow: list[str] = Field(default_factory=list)
    approve: list[str] = Field(default_factory=list)
    deny: list[str] = Field(default_factory=list)


class AllowText(TestsText):
    """Programs that are allowed for one reason, with the tests of these rules."""

    reason: str = Field(min_length=8)
    rules: list[Annotated[RuleText, BeforeValidator(_in_full)]] = Field(min_length=1)


class ForbidText(TestsText):
    """Entries as in `forbidden_commands`, with the reason that people see, and their tests."""

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
    readable: list[str] = Field(default_factory=list)
    trees: list[str] = Field(default_factory=list)
    public: list[str] = Field(default_factory=list)
    dots: list[str] = Field(default_factory=list)
    projects: list[str] = Field(default_factory=list)
    hosts: list[str] = Field(default_factory=list)
    images: list[str] = Field(default_factory=list)


class EffectText(Document):
    """Programs that may change files below some folders, if a preview shows no more than that.

    `then` is a command that must end well after it (`shared.guard.policy.effect_rules`).
    """

    run: str = Field(min_length=1)
    below: list[Annotated[str, Field(pattern=r"^/[^/*~]+/?([^/*~]+/?)*$")]] = Field(min_length=1)
    then: str = Field(min_length=1)


class AgentsText(Document):
    """How agents have to run, and what they reach then."""

    containment: Annotated[ContainmentRule, BeforeValidator(ContainmentRule)] | None = None
    networks: Annotated[Networks, BeforeValidator(Networks)] | None = None


class LevelText(Document):
    """The rules of one level: for everything, for a group of hosts, or for one host.

    `containment` is for looks. `reach` lists programs that need what a containment takes away, by
    what it is.
    """

    profiles: list[str] | None = None
    allow: list[AllowText] = Field(default_factory=list)
    forbid: list[ForbidText] = Field(default_factory=list)
    variables: list[str] = Field(default_factory=list)
    places: PlacesText = Field(default_factory=PlacesText)
    programs: list[str] = Field(default_factory=list)
    checks: TestsText = Field(default_factory=TestsText)
    unlisted: Choice["approve", "allow"] | None = None
    containment: Annotated[ContainmentRule, BeforeValidator(ContainmentRule)] | None = None
    reach: dict[WrittenNeed, list[str]] = Field(default_factory=dict)
    agents: AgentsText = Field(default_factory=AgentsText)
    effects: list[EffectText] = Field(default_factory=list)


class GroupText(LevelText):
    """A level for the hosts whose names match one of `hosts` (`web*`)."""

    hosts: list[str] = Field(min_length=1)


class SiteText(LevelText):
    """The policy file of a site."""

    groups: dict[str, GroupText] = Field(default_factory=dict)
    hosts: dict[str, LevelText] = Field(default_factory=dict)


class ConfiguredText(Document):
    """Files of configuration, by a regular expression (`shared.guard.policy.configured`)."""

    files: str
    language: str
    tests: list[str] = Field(default_factory=list)
    fragments: bool = False


class ProfileText(Document):
    """A shipped profile."""

    about: str
    places: PlacesText = Field(default_factory=PlacesText)
    configured: list[ConfiguredText] = Field(default_factory=list)
    includes: list[str] = Field(default_factory=list)
    allow: list[AllowText]
