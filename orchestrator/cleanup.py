"""Sending a worker to end what a cancelled step left running."""

from sqlalchemy import Connection, text

from shared.store.database import DOORBELL, notify

_SEND_TO_END = text("""
    UPDATE jobs SET
        state = 'open', ending = true, due_at = clock_timestamp(), ended_at = NULL,
        owner = NULL, lease_until = NULL, rung_at = NULL, claims = 0
    FROM attempts
    JOIN run_steps ON run_steps.run_id = attempts.run_id AND run_steps.step = attempts.step
    WHERE attempts.outcome = 'running' AND run_steps.phase = 'cancelled'
      AND jobs.id = (
          SELECT latest.id FROM jobs AS latest
          WHERE latest.run_id = attempts.run_id AND latest.step = attempts.step
            AND latest.pass_no = attempts.pass_no AND latest.kind = 'execute'
          ORDER BY latest.id DESC LIMIT 1
      )
      AND jobs.state = 'cancelled' AND NOT jobs.ending
      AND (jobs.lease_until IS NULL OR jobs.lease_until < clock_timestamp())
    RETURNING jobs.id
""")


def send_to_end(connection: Connection) -> int:
    """Open each withdrawn job once more where its attempt still runs and no worker is at it.

    Whoever claims it ends what runs, and starts nothing. Returns how many jobs that was.
    """
    sent = len(connection.execute(_SEND_TO_END).all())
    if sent:
        notify(connection, DOORBELL)
    return sent
