"""Policies, built from the shipped files, the site's, and the host's."""

import hashlib
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache, cached_property
from pathlib import Path

from shared.contracts.origin import Origin
from shared.contracts.yamltext import YamlText, read_yaml
from shared.domain.containment import AgentRule, ContainmentRule
from shared.domain.errors import Misconfigured
from shared.domain.next_step import NextStep, ShellCommand
from shared.guard.policy.allowance import Allowance
from shared.guard.policy.configured import Configured
from shared.guard.policy.containment_rules import agent_rule, containment_rule
from shared.guard.policy.effect_rules import EffectRule, effect_rules
from shared.guard.policy.files import (
    AllowText,
    ForbidText,
    LevelText,
    PlacesText,
    ProfileText,
    RuleText,
    SiteText,
    TestsText,
)
from shared.guard.policy.notation import options, slots
from shared.guard.policy.territory import Territory
from shared.guard.reach import Need

SHIPPED = Path(__file__).parent / "shipped"
PROFILES = (
    *("strict", "read-only", "consumers", "files", "packages", "services", "project"),
    "configure",
)
ENGINE = 2
"""Incremented whenever the meaning of the same rules changes."""
_PLACES = tuple(PlacesText.model_fields)
_NOTATION = NextStep.of("guard rules", help=True)  # its rules would not load either


@dataclass(frozen=True, slots=True)
class Forbidden:
    """An entry of `forbidden_commands`, its reason and its source."""

    entry: str
    reason: str = ""
    source: str = "forbidden_commands"


_NOWHERE_SPECIAL = Territory()
_ANYWHERE = ("", ".", "~")


@dataclass(frozen=True)
class CommandPolicy:
    """Everything that decides about commands for one host.

    `checks` are commands with the verdicts that they must get. `unlisted_allowed`: commands that no
    rule lists are allowed; only deny rules and undecidable commands are stopped. `version` is a
    digest of everything that decides. `agents` says how agents run, which nothing is judged by.
    """

    forbidden: tuple[Forbidden, ...] = ()
    allowances: tuple[Allowance, ...] = ()
    territory: Territory = _NOWHERE_SPECIAL
    variables: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    unlisted_allowed: bool = False
    containment: ContainmentRule = ContainmentRule.POSSIBLE
    reach: tuple[tuple[str, Need], ...] = ()
    agents: AgentRule = AgentRule()  # noqa: RUF009 - it is frozen
    configured: tuple[Configured, ...] = ()
    effects: tuple[EffectRule, ...] = ()
    checks: tuple[tuple[str, str], ...] = ()
    source: str = "shipped"

    @cached_property
    def version(self) -> str:
        """Sixteen hexadecimal digits that change when any rule does."""
        digest = hashlib.sha256(repr((ENGINE, *(getattr(self, n) for n in _DECIDING))).encode())
        for allowance in self.allowances:
            digest.update(allowance.told)
        return digest.hexdigest()[:16]


_DECIDING = (
    *("forbidden", "territory", "variables", "programs", "unlisted_allowed"),
    *("containment", "reach", "configured", "effects"),
)


def only_forbidden(entries: Iterable[str]) -> CommandPolicy:
    """A policy that allows every decidable command that no entry forbids."""
    return CommandPolicy(tuple(map(Forbidden, entries)), unlisted_allowed=True)


def with_rules(policy: CommandPolicy, groups: Iterable[AllowText], source: str) -> CommandPolicy:
    """The policy with further rules, which come first."""
    return replace(policy, allowances=(*_allowances(groups, source), *policy.allowances))


@cache
def looks() -> CommandPolicy:
    """The policy for read-only commands: the profile `read-only`, with no place to write.

    Files are read wherever they lie, unless a pattern of `secret` names them: what shows a cause
    may lie anywhere.
    """
    territory = replace(_territory([_base()]), write=(), delete=(), purge=(), readable=())
    return CommandPolicy(
        forbidden=shipped_forbidden(),
        allowances=tuple(_profiles(("read-only",), "shipped")),
        territory=territory,
        variables=tuple(_base().variables),
        source="profile read-only",
    )


def planner_looks(own: Iterable[str] = ()) -> CommandPolicy:
    """The policy for what a planner may look at: `looks`, but nothing that may hold a secret.

    What it prints goes to a model. `looks.yaml` lists what is denied; `own` are the folders of this
    installation.
    """
    table = LevelText.read(_shipped_text("looks"), _origin("looks"))
    hidden = (*table.places.secret, *(part for place in own for part in (place, f"{place}/*")))
    policy = looks()
    territory = replace(policy.territory, secret=(*policy.territory.secret, *hidden))
    return replace(
        policy,
        forbidden=(*policy.forbidden, *_forbidden(table.forbid, "looks")),
        territory=territory,
        checks=tuple(_checks(table)),
        source="what a planner may look at",
    )


@cache
def changes() -> CommandPolicy:
    """The policy for commands that are known to change something, wherever they do it."""
    return CommandPolicy(
        allowances=tuple(
            allowance
            for name in ("files", "packages", "services")
            for allowance in _profile_allowances(name)
        ),
        territory=Territory(_ANYWHERE, _ANYWHERE, _ANYWHERE, dotfiles=(".*",), code=_ANYWHERE),
        variables=("*",),
        programs=tuple(_base().programs),
        source="profiles that change something",
    )


@dataclass(frozen=True, slots=True)
class Site:
    """The shipped policy with a site's additions; `for_host` gives the policy of one host."""

    text: SiteText | None = None
    source: str = "shipped"

    def for_host(
        self,
        name: str | None = None,
        forbidden: Iterable[str] = (),
        profiles: Iterable[str] = (),
    ) -> CommandPolicy:
        """The policy for the host of that name; `forbidden` are a task's own entries.

        `profiles`, if any, are used instead of those that the levels choose. Raises
        Misconfigured when an unknown profile is named.
        """
        return self._policy(list(self._levels(name)), forbidden, profiles)

    def levels(self) -> Iterator[tuple[str | None, CommandPolicy]]:
        """The policy of every level by its name: of all hosts (None), of each group, each host."""
        if self.text is None:
            return
        yield None, self.for_host()
        whole = (self.source, self.text)
        for group, text in self.text.groups.items():
            level = (f"{self.source}, group {group}", text)
            yield f"group {group}", self._policy([whole, level], (), ())
        for host in self.text.hosts:
            yield f"host {host}", self.for_host(host)

    def _policy(
        self,
        levels: list[tuple[str, LevelText]],
        forbidden: Iterable[str],
        profiles: Iterable[str],
    ) -> CommandPolicy:
        base = _base()
        chosen = next((t.profiles for _, t in reversed(levels) if t.profiles is not None), None)
        unlisted = next((t.unlisted for _, t in reversed(levels) if t.unlisted is not None), None)
        texts = [("shipped", base), *levels]
        names = tuple(profiles) or (base.profiles if chosen is None else chosen) or ()
        return CommandPolicy(
            forbidden=(
                *shipped_forbidden(),
                *(f for source, text in levels for f in _forbidden(text.forbid, source)),
                *map(Forbidden, forbidden),
            ),
            allowances=(
                # the most specific first: the first match counts
                *(a for s, text in reversed(levels) for a in _allowances(text.allow, s)),
                *_profiles(names, self.source),
            ),
            territory=_territory(
                [*(text for _, text in texts), *map(profile, _with_includes(names, self.source))]
            ),
            variables=tuple(v for _, text in texts for v in text.variables),
            programs=tuple(p for _, text in texts for p in text.programs),
            unlisted_allowed=unlisted == "allow",
            containment=containment_rule(t.containment for _, t in levels),
            agents=agent_rule(t.agents for _, t in levels),
            reach=tuple(
                (name, need) for _, t in levels for need, names in t.reach.items() for name in names
            ),
            configured=tuple(
                Configured(each.files, each.language, tuple(each.tests), each.fragments)
                for shipped in map(profile, _with_includes(names, self.source))
                for each in shipped.configured
            ),
            effects=tuple(rule for _, text in levels for rule in effect_rules(text)),
            checks=tuple(check for _, text in levels for check in _checks(text)),
            source=self.source,
        )

    def _levels(self, name: str | None) -> Iterator[tuple[str, LevelText]]:
        """The levels that apply to the host, the most general first, with their sources."""
        if self.text is None:
            return
        yield self.source, self.text
        for group, text in self.text.groups.items():
            if name is not None and any(fnmatchcase(name, pattern) for pattern in text.hosts):
                yield f"{self.source}, group {group}", text
        if name is not None and name in self.text.hosts:
            yield f"{self.source}, host {name}", self.text.hosts[name]


def load_site(path: Path | None) -> Site:
    """The site's policy; the shipped one when there is no file.

    Raises Misconfigured, with file, line, reason and the command to type, for a file that is not
    there, does not parse, contradicts itself, or names unknown profiles or kinds.
    """
    if path is None:
        return Site()
    origin = Origin(str(path), "guard", _NOTATION, Misconfigured)
    try:
        written = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        looked_for = replace(origin, next_step=ShellCommand(f"ls -l {shlex.quote(str(path))}"))
        raise looked_for.error(f"the policy cannot be read ({error})") from error
    yaml_text = read_yaml(written, origin)
    text = SiteText.read(yaml_text, origin)
    _refuse_contradictions(text, yaml_text, origin)
    return Site(text, str(path))


def _refuse_contradictions(text: SiteText, yaml_text: YamlText, origin: Origin) -> None:
    faults = []
    levels: list[tuple[tuple[str | int, ...], LevelText]] = [((), text)]
    levels += [(("groups", name), group) for name, group in text.groups.items()]
    levels += [(("hosts", name), host) for name, host in text.hosts.items()]
    for path, level in levels:
        for profile in level.profiles or ():
            if profile not in PROFILES:
                known = ", ".join(PROFILES)
                place = yaml_text.place((*path, "profiles"))
                faults.append(f"{place}: there is no profile {profile!r}; known: {known}")
        forbidden = {" ".join(e.split()) for group in level.forbid for e in group.rules}
        for at, group in enumerate(level.allow):
            for number, rule in enumerate(group.rules):
                named = {" ".join(run) for run in rule.runs}
                for both in sorted(forbidden & named):
                    place = yaml_text.place((*path, "allow", at, "rules", number))
                    faults.append(f"{place}: {both!r} is allowed here and forbidden on this level")
    if faults:
        raise origin.faults(faults)


@cache
def _base() -> LevelText:
    return LevelText.read(_shipped_text("base"), _origin("base"))


@cache
def shipped_forbidden() -> tuple[Forbidden, ...]:
    """What is forbidden everywhere, each entry with its reason."""
    level = LevelText.read(_shipped_text("forbidden"), _origin("forbidden"))
    return tuple(_forbidden(level.forbid, "shipped"))


@cache
def profile(name: str) -> ProfileText:
    """A shipped profile."""
    return ProfileText.read(_shipped_text(name), _origin(name))


@cache
def _profile_allowances(name: str) -> tuple[Allowance, ...]:
    return tuple(_allowances(profile(name).allow, f"profile {name}"))


def _with_includes(names: Iterable[str], source: str) -> tuple[str, ...]:
    """The profiles of these names and those that they include, each once."""
    waiting = list(names)
    wanted: dict[str, None] = {}
    while waiting:
        name = waiting.pop(0)
        if name not in PROFILES:
            raise Misconfigured(
                f"{source}: there is no profile {name!r}; known: {', '.join(PROFILES)}",
                stage="guard",
                next_step=_NOTATION,
            )
        if name not in wanted:
            wanted[name] = None
            waiting += profile(name).includes
    return tuple(wanted)


def _profiles(names: Iterable[str], source: str) -> Iterator[Allowance]:
    """The allowances of profiles and of the profiles that they include, each once."""
    for name in _with_includes(names, source):
        yield from _profile_allowances(name)


def _allowances(groups: Iterable[AllowText], source: str) -> Iterator[Allowance]:
    for group in groups:
        for rule in group.rules:
            yield from _of_rule(rule, group.reason, source)


def _of_rule(rule: RuleText, reason: str, source: str) -> Iterator[Allowance]:
    given = options(rule.flags)
    for run in rule.runs:
        yield Allowance(
            run=run,
            options=given,
            before=given if rule.before is None else options(rule.before),
            slots=slots(rule.operands),
            words=rule.style == "words",
            bundle=rule.bundle,
            shell=rule.shell,
            loose=rule.loose,
            runs_code=rule.code,
            brings=rule.brings,
            elsewhere=rule.elsewhere,
            within=tuple(rule.within),
            arrives=rule.arrives,
            pairs=tuple(rule.pairs.items()),
            needs=tuple(rule.needs),
            needs_one=tuple(rule.needs_one),
            consumes=tuple(rule.consumes),
            idle_input=rule.input == "idle",
            asks_input=rule.input == "asks",
            directories=tuple(rule.directory),
            reason=reason,
            source=source,
        )


def _forbidden(groups: Iterable[ForbidText], source: str) -> Iterator[Forbidden]:
    for group in groups:
        for entry in group.rules:
            yield Forbidden(entry, group.reason, source)


def _territory(texts: Sequence[LevelText | ProfileText]) -> Territory:
    merged = {
        name: tuple(place for text in texts for place in getattr(text.places, name))
        for name in _PLACES
    }
    return Territory(**merged)


def _checks(text: LevelText) -> Iterator[tuple[str, str]]:
    for tests in (*text.allow, *text.forbid, text.checks):
        yield from expectations(tests)


def expectations(tests: TestsText) -> Iterator[tuple[str, str]]:
    """Each command of some tests with the verdict that it must get."""
    for verdict in ("allow", "approve", "deny"):
        for command in getattr(tests, verdict):
            yield command, verdict


def _origin(name: str) -> Origin:
    return Origin(f"{name}.yaml", "guard", NextStep.of("guard rules"), Misconfigured)


def _shipped_text(name: str) -> YamlText:
    return read_yaml((SHIPPED / f"{name}.yaml").read_text(encoding="utf-8"), _origin(name))
