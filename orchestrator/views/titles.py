"""The titles of subtasks, as SQL."""

from typing import Final

TITLE: Final = """(
    SELECT planned ->> 'title' FROM jsonb_array_elements(coalesce(
        (SELECT subtasks FROM revisions v
         WHERE v.run_id = a.run_id AND v.step = a.step AND v.revision = a.revision),
        (SELECT body -> 'subtasks' FROM planned_steps p
         WHERE p.run_id = a.run_id AND p.step = a.step)
    )) AS planned WHERE (planned ->> 'ordinal')::bigint = a.subtask LIMIT 1
)"""
"""The title of the subtask of the attempt `a`, NULL where none is planned."""
