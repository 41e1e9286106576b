"""Deliveries of a session, counted by where they are."""

from orchestrator.words.sessions import counts_of
from shared.domain.delivery import DeliveryStatus, Stage


def test_deliveries_are_counted_in_the_words_of_a_list() -> None:
    counted = {
        DeliveryStatus.CHECKPOINTED: 2,
        DeliveryStatus.PUBLISHED: 3,
        DeliveryStatus.WITHDRAWN: 1,
    }
    assert list(counts_of(counted, [Stage.ALLOWING, Stage.QUEUED, Stage.QUEUED])) == [
        "1 waits for a person",
        "2 in the queue",
        "1 withdrawn",
        "2 on the remote",
    ]
    assert list(counts_of({DeliveryStatus.PUBLISHED: 1}, [None])) == ["1 published"]
