"""The claims of a step that the database knows, and what people have said about others."""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from shared.domain.records import RecordsAnswer, SettledClaim

_KNOWN = text("""
    SELECT DISTINCT unnest(tokens) FROM jobs WHERE run_id = :run_id AND step = :step
""")

_SETTLED = text("""
    SELECT token, pass_no, answer FROM settled_claims WHERE run_id = :run_id AND step = :step
""")

_SETTLE = text("""
    INSERT INTO settled_claims (run_id, step, token, pass_no, answer)
    VALUES (:run_id, :step, :token, :pass_no, :answer)
    ON CONFLICT DO NOTHING
""")


def known(connection: Connection, run_id: int, step: int) -> frozenset[str]:
    """The tokens of all claims of the jobs of a step in a run."""
    return frozenset(connection.execute(_KNOWN, {"run_id": run_id, "step": step}).scalars())


def settled(connection: Connection, run_id: int, step: int) -> tuple[SettledClaim, ...]:
    """What a person has said about claims that the database does not know."""
    found = connection.execute(_SETTLED, {"run_id": run_id, "step": step})
    return tuple(SettledClaim(row.token, row.pass_no, RecordsAnswer(row.answer)) for row in found)


def settle(connection: Connection, run_id: int, step: int, said: Sequence[SettledClaim]) -> None:
    """Write what a person says about claims."""
    rows = [
        {
            "run_id": run_id,
            "step": step,
            "token": claim.token,
            "pass_no": claim.pass_no,
            "answer": claim.answer.value,
        }
        for claim in said
    ]
    if rows:
        connection.execute(_SETTLE, rows)
