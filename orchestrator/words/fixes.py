"""Why a remembered fix is carried out by itself, or is only a hint, in words."""

from collections.abc import Sequence

from shared.guard.remembered import Obstacle, ObstacleKind


def tell_obstacle(obstacle: Obstacle) -> str:
    """One reason why a fix is only a hint to planners."""
    return _WORDS[obstacle.kind].format(about=", ".join(obstacle.about) or "nowhere yet")


def tell_use(obstacles: Sequence[Obstacle], scopes: Sequence[str]) -> str:
    """What the memory does with a fix."""
    if obstacles:
        return "a hint to planners, because " + "; ".join(map(tell_obstacle, obstacles))
    places = " and ".join(
        f"hosts labelled {scope}" if scope else "hosts without labels" for scope in scopes
    )
    return (
        f"carried out by itself on {places}, where the failed step or its output names every thing "
        "that the fix names; elsewhere a hint to planners"
    )


_WORDS = {
    ObstacleKind.DESTROYS: "it stops or destroys something: {about}",
    ObstacleKind.UNKNOWN_EFFECT: "nobody knows what this does: {about}",
    ObstacleKind.PROVES_LESS: "it gives up what proved or guarded the step: {about}",
    ObstacleKind.VAGUE: "the host did not show why it failed",
    ObstacleKind.UNPROVEN: "it has to work twice, on two hosts with the same labels or under two"
    " authors; it has worked on {about}",
    ObstacleKind.FAILED: "it has failed",
    ObstacleKind.RIVALS: "other fixes are for the same failure: {about}",
    ObstacleKind.DOES_NOT_FIT: "it does not fit this step word for word",
    ObstacleKind.NAMES_MORE: "neither the step nor its output names {about}",
}
