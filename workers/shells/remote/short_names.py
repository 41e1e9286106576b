"""The short names in a runner's text as it is sent: every new runner receives that text.

This table is the only place that defines them. Calls use the same names; see `runner_text`.
"""

import re
from enum import StrEnum
from types import MappingProxyType


class RunnerVerb(StrEnum):
    """A function of the runner that its driver calls, with its name in `runner.sh`."""

    OPEN = "open_records"
    RUN = "run_command"
    RUN_IF = "run_if"
    SIZE = "tell_size"
    BLOCK = "tell_block"
    LOG = "tell_log"
    STOP = "stop_pass"
    ERASE = "erase_output"
    SETTLE = "settle_pass"
    QUIT = "quit_runner"
    FOLLOW = "follow_command"
    LEFT = "tell_left"
    END = "end_command"


VERBS = MappingProxyType(
    {
        RunnerVerb.OPEN: "o",
        RunnerVerb.RUN: "r",
        RunnerVerb.RUN_IF: "a",
        RunnerVerb.SIZE: "h",
        RunnerVerb.BLOCK: "g",
        RunnerVerb.LOG: "t",
        RunnerVerb.STOP: "s",
        RunnerVerb.ERASE: "x",
        RunnerVerb.SETTLE: "e",
        RunnerVerb.QUIT: "q",
        RunnerVerb.FOLLOW: "w",
        RunnerVerb.LEFT: "p",
        RunnerVerb.END: "k",
    }
)
VARIABLES = MappingProxyType(
    {
        "frame_nonce": "N",
        "record_nonce": "M",
        "home_root": "R",
        "records_cap": "Q",
        "memory_root": "S",
        "runner_pid": "P",
        "runner_start": "F",
        "current_file": "A",
        "watch_pid": "G",
        "open_stem": "D",
        "work_folder": "W",
        "has_setsid": "Z",
        "viewed_stem": "V",
        "followed_key": "K",
        "followed_pair": "m",
        "pair_number": "n",
        "out_bytes": "a",
        "err_bytes": "b",
        "other_log": "d",
        "claim_name": "c",
        "oldest": "u",
        "newest": "v",
        "stayed": "y",
        "environs": "f",
        "own_mark": "z",
        "excess": "Y",
        "stats": "B",
        "newline": "C",
        "marked": "H",
        "passed": "J",
        "tracked": "L",
        "cookie": "O",
        "step_name": "e",
        "space": "I",
        "give_up": "X",
        "kept": "T",
        "greps": "U",
        "beside": "i",
        "first_digit": "j",
        "second_digit": "l",
        "changed": "E",
        "look_pid": "aa",
        "worn": "ab",
        "line": "g",
        "held": "k",
        "old": "q",
        "file": "r",
        "newest_at": "o",
        "first_folder": "p",
    }
)

_NAMES = MappingProxyType({**{verb.value: short for verb, short in VERBS.items()}, **VARIABLES})
_NAME = re.compile(rf"(?<![\w-])(?:{'|'.join(_NAMES)})(?![\w-])")


def shorten(text: str) -> str:
    """Replace each long name in the text with its short name."""
    return _NAME.sub(lambda found: _NAMES[found[0]], text)
