"""What links of plans lead to, and that following them ends."""

import pytest

from shared.domain.provenance import Mark, MarkKind
from shared.guard.publication import Publication, Put

WEB = "/var/www/html/x"


def links(*ends: tuple[str, str]) -> list[Mark]:
    return [Mark(MarkKind.LINK, path, target) for path, target in ends]


def chain(length: int) -> list[Mark]:
    """Folders for pages, of which each but the last is a link to the next."""
    return links(*((f"/srv/{n}/dist", f"/srv/{n + 1}/dist") for n in range(length)))


@pytest.mark.parametrize("length", [1, 5, 40])
def test_a_chain_of_links_is_followed_from_both_ends(length: int) -> None:
    """A kernel follows 40 links in a path."""
    marks = chain(length)
    last = f"/srv/{length}/dist"
    inner = Mark(MarkKind.LINK, f"{last}/a", "/srv/app")
    outer = Mark(MarkKind.LINK, WEB, "/srv/0/dist")
    put_outer = Put("/srv/0/dist", WEB, "", link=True)
    put_inner = Put("/srv/app", f"{last}/a", "", link=True)
    assert Publication([*marks, inner]).objection([put_outer]) is not None
    assert Publication(marks).objection([put_outer]) is None
    assert Publication(marks).objection([put_inner]) is None
    if length < 40:
        assert Publication([*marks, outer]).objection([put_inner]) is not None


@pytest.mark.parametrize(
    "ends",
    [
        [("/srv/a", "/srv/a")],
        [("/srv/a/l", "/srv/a")],
        [("/srv/a/l", "/srv/b"), ("/srv/b/l", "/srv/a")],
        [("/srv/a/l", "/srv/a"), ("/srv/a/m", "/srv/a"), ("/srv/a/l/m", "/srv/a")],
        [("/srv/*/l", "/srv/a"), ("/srv/a", "/srv/*")],
        [("/", "/srv/a"), ("/srv/a", "/")],
    ],
)
def test_links_in_circles_end(ends: list[tuple[str, str]]) -> None:
    found = Publication(links(*ends))
    for place in ("/srv/a/x", "/srv/b/x", "/srv/c"):
        found.objection([Put("/srv/app", place, "", link=True)])
    assert found.objection([Put("/srv/app", WEB, "", link=True)]) is not None


def test_releases_of_years_are_no_reason_to_ask() -> None:
    """Each deployment leaves a link, and the one that is served may be any of them."""
    marks = links(*(("/srv/app/current", f"/srv/app/releases/{n}") for n in range(400)))
    found = Publication(marks)
    assert found.objection([Put("/srv/app/current", WEB, "", link=True)]) is None
    assert found.objection([Put("/srv/app/conf", "/srv/app/current/conf", "", tree=True)]) is None


def test_more_names_than_can_be_followed_ask() -> None:
    marks = links(*((f"/srv/{n}/dist", "/srv/dist") for n in range(1500)))
    found = Publication(marks).objection([Put("/srv/app", "/srv/dist/app", "", tree=True)])
    assert found is not None
