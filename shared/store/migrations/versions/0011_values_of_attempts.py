"""What code branches on is a column, no longer a part of a sentence."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# The sentences as the versions before this one wrote them.
_TOLD = (
    ("ran", "ok", "it ran, says a person"),
    ("not_run", "unknown", "it did not run, says a person"),
    ("again", "unknown", "it is to be run again, says a person"),
)
_PREDICTIONS = (
    "already satisfied",
    "would run",
    "needs approval",
    "denied",
    "precondition unmet",
    "unknown",
)
_UNKNOWN = (
    ("no_record", "the host was restarted, and has no record of it any more"),
    ("host_restarted", "the host was restarted while it ran"),
    (
        "other_container",
        "it was started in another container, whose processes cannot be seen from here",
    ),
    ("shell_killed", "the shell that ran it on the host was killed"),
)

_SET_TOLD = sa.text("""
    UPDATE attempts SET
        told_by_person = :answer,
        reason = CASE WHEN reason = :words THEN ''
                      ELSE left(reason, -length('; ' || :words)) END
    WHERE outcome = :outcome
      AND (reason = :words OR right(reason, length(:words) + 2) = '; ' || :words)
""")
_SET_PREDICTION = sa.text("""
    UPDATE attempts SET prediction = :prediction,
        reason = substr(reason, length('dry run: ' || :prediction) + 3)
    WHERE ran_at IS NULL AND outcome IN ('satisfied', 'simulated', 'denied')
      AND (reason = 'dry run: ' || :prediction
           OR starts_with(reason, 'dry run: ' || :prediction || ': '))
""")
_SET_UNKNOWN = sa.text("""
    UPDATE attempts SET unknown = :unknown
    WHERE ran_at IS NOT NULL AND starts_with(reason, 'nobody can say how it ended')
      AND strpos(reason, :words) > 0
""")
_SET_ENDED_BY = sa.text("""
    UPDATE attempts SET ended_by = CASE
        WHEN outcome = 'cancelled' THEN 'cancel'
        WHEN outcome = 'failed' AND starts_with(reason, 'ended by an operator') THEN 'operator'
        WHEN outcome = 'timed_out' OR reason ~ '^ended after [0-9]+ s, its timeout' THEN 'timeout'
    END
    WHERE ran_at IS NOT NULL
      AND (outcome IN ('cancelled', 'timed_out')
           OR reason ~ '^(ended by an operator|ended after [0-9]+ s, its timeout)')
""")
_SET_LEFT_OVER = sa.text("""
    UPDATE attempts SET left_over = to_jsonb(string_to_array(
        btrim(substr(reason, strpos(reason, 'left over: ') + length('left over: '))), ' '))
    WHERE outcome IN ('cancelled', 'failed', 'timed_out', 'unknown')
      AND strpos(reason, 'left over: ') > 0
""")
_SET_ANSWER = """
    UPDATE {table} SET answer = substr(note, strpos(note, :mark) + length(:mark))
    WHERE starts_with(note, 'Asked: ') AND strpos(note, :mark) > 0
"""


def upgrade() -> None:
    """Add the columns, and fill them from the sentences of the rows that are there."""
    for name in ("told_by_person", "ended_by", "unknown", "prediction"):
        op.add_column("attempts", sa.Column(name, sa.Text(), nullable=True))
    empty = sa.text("'[]'::jsonb")
    op.add_column(
        "attempts",
        sa.Column("left_over", postgresql.JSONB(), server_default=empty, nullable=False),
    )
    for table in ("run_steps", "jobs"):
        op.add_column(table, sa.Column("answer", sa.Text(), nullable=True))
    connection = op.get_bind()
    for answer, outcome, words in _TOLD:
        connection.execute(_SET_TOLD, {"answer": answer, "outcome": outcome, "words": words})
    for prediction in _PREDICTIONS:
        connection.execute(_SET_PREDICTION, {"prediction": prediction})
    connection.execute(_SET_ENDED_BY)
    connection.execute(_SET_LEFT_OVER)
    for unknown, words in _UNKNOWN:
        connection.execute(_SET_UNKNOWN, {"unknown": unknown, "words": words})
    for table in ("run_steps", "jobs"):
        statement = sa.text(_SET_ANSWER.format(table=table))
        connection.execute(statement, {"mark": "\nAnswered: "})
