"""Each message that is dropped is logged, with how many there were."""

from concurrent.futures import ThreadPoolExecutor

from structlog.testing import capture_logs

from shared.queue.dropped import DroppedMessages


def test_each_is_logged_and_counted_and_only_its_beginning_is_shown() -> None:
    dropped = DroppedMessages()
    with capture_logs() as logs:
        dropped.add("execution", "it is not an object", "x" * 5_000_000)
        dropped.add("execution", "y" * 5_000)
    assert [line["dropped"] for line in logs] == [1, 2]
    assert {line["event"] for line in logs} == {"message_dropped"}
    assert max(len(str(line)) for line in logs) < 1000


def test_none_is_forgotten_where_many_threads_drop() -> None:
    dropped = DroppedMessages()
    with capture_logs(), ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: dropped.add("execution", "why"), range(400)))
    assert dropped.count == 400
