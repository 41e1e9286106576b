"""Plans whose commands wait for a person's word, and the ledger that they write."""

from pathlib import Path

import yaml
from sqlalchemy import text

from tests.integration.cli.calling import Cli


def lines(ledger: Path) -> list[str]:
    return ledger.read_text().split() if ledger.exists() else []


def plan_file(folder: Path, *steps: dict[str, object], **more: object) -> Path:
    path = folder / "plan.yaml"
    named = [{"title": f"step {n}", **step} for n, step in enumerate(steps, 1)]
    path.write_text(yaml.safe_dump({**more, "steps": named}))
    return path


def critical(command: str, **more: object) -> dict[str, object]:
    """A step of one command that waits for a person, whatever the guard says of it."""
    return {"subtasks": [{"run": command, "critical": True, **more}]}


def plain(command: str, **more: object) -> dict[str, object]:
    return {"subtasks": [{"run": command}], **more}


def sourcing(folder: Path, name: str, line: str) -> str:
    """A command that the guard cannot decide: it reads commands from a file."""
    script = folder / f"{name}.sh"
    script.write_text(f"{line}\n")
    return f". {script}"


def submit(cli: Cli, plan: Path, *more: str, code: int = 3) -> str:
    answer = cli.json("task", "submit", "--plan", plan, "--local", "--wait", *more, code=code)
    return str(answer["details"]["ref"])


def forbid_from_now_on(cli: Cli, program: str) -> None:
    """Have a program forbidden for every task as soon as there is work for it.

    A plan that is forbidden when it is submitted is refused; needs `changes_rows`.
    """
    harsher = f"jsonb_set(policy, '{{forbidden_commands}}', '[\"{program}\"]')"
    change = f"UPDATE tasks SET policy = {harsher} WHERE id = NEW.task_id;"  # noqa: S608
    on_insert(cli, "jobs", change, "AFTER")


def on_insert(cli: Cli, table: str, statement: str, when: str) -> None:
    """Have somebody who may write to the database do something with each new row of a table."""
    with cli.database.begin() as connection:
        body = f"BEGIN {statement} RETURN NEW; END"
        connection.execute(
            text(f"CREATE FUNCTION hostile() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$")
        )
        connection.execute(
            text(
                f"CREATE TRIGGER hostile {when} INSERT ON {table} "
                "FOR EACH ROW EXECUTE FUNCTION hostile()"
            )
        )
