"""procrastinate: a durable no-op job for each command; as many at once as there are plans."""

import asyncio
import time

import psycopg
from procrastinate import App, PsycopgConnector

from benchmarks.peers.programs.brief import Brief, answer, read


async def consumed(brief: Brief) -> float:
    """Seconds that a worker takes for all the jobs, which wait for it."""
    connector = PsycopgConnector(conninfo=brief.database)
    app = App(connector=connector)

    @app.task(name="nothing")
    async def nothing() -> None:
        """A job."""

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        await nothing.batch_defer_async(*({} for _ in range(brief.count)))
        begun = time.perf_counter()
        await app.run_worker_async(
            concurrency=brief.plans, wait=False, install_signal_handlers=False, delete_jobs="never"
        )
        return time.perf_counter() - begun


def main() -> None:
    """Set up, then measure."""
    brief = read()
    with psycopg.connect(brief.database, autocommit=True) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    seconds = asyncio.run(consumed(brief))
    with psycopg.connect(brief.database) as connection:
        query = "SELECT count(*) FROM procrastinate_jobs WHERE status = 'succeeded'"
        row = connection.execute(query).fetchone()
    answer(row[0] if row else 0, seconds)


if __name__ == "__main__":
    main()
