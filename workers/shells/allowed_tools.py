"""Limits a step to the programs that it may use (S3.10), in addition to the guard."""

from collections.abc import Callable, Collection
from pathlib import PurePosixPath

from shared.domain.verdict import Verdict, VerdictKind
from workers.shells.door import Judge

_RULE = "allowed_tools"

_OF_THE_SHELL = frozenset(
    {
        *("[", ":", ".", "break", "cd", "command", "continue", "echo", "eval", "exec", "exit"),
        *("export", "false", "printf", "pwd", "read", "readonly", "return", "set", "shift", "test"),
        *("times", "trap", "true", "type", "ulimit", "umask", "unset", "wait"),
    }
)
"""Built-ins of the shell; the programs that they start are checked separately."""


class ToolsJudge:
    """A guard that lets a step start only its tools."""

    def __init__(
        self,
        inner: Judge,
        programs: Callable[[str], Collection[str] | None],
        tools: Collection[str],
    ) -> None:
        """`programs` names all programs that a text starts, None if they cannot be determined."""
        self._inner = inner
        self._programs = programs
        self._tools = tools

    def judge(self, command: str, interpreter: str = "sh") -> Verdict:
        """The guard's verdict; a program that is not one of the tools is denied.

        Built-ins of the shell are always allowed. If the programs cannot be determined, a person
        decides.
        """
        verdict = self._inner.judge(command, interpreter)
        if verdict.denied:
            return verdict
        started = self._programs(command)
        if started is None:
            reason = "the step may use only its own tools, and the programs cannot be determined"
            return Verdict(VerdictKind.APPROVE, _RULE, reason)
        foreign = sorted(p for p in started if not self._is_tool(p))
        if foreign:
            reason = (
                f"the step may not use {', '.join(foreign)}; "
                f"its tools are {', '.join(self._tools) or 'none'}"
            )
            return Verdict(VerdictKind.DENY, _RULE, reason, foreign[0])
        return verdict

    def _is_tool(self, program: str) -> bool:
        name = PurePosixPath(program).name
        return program in self._tools or name in self._tools or program in _OF_THE_SHELL
