"""Lines of output that say only that something failed; pure."""

import re

_LINES = (
    r"Job for \S+ (?:failed|canceled|invalid)\b.*|A dependency job for \S+ failed\b.*",
    r"See .+ for details\.?|See ['\"]?systemctl status.*|See the log.*|Check the logs?.*",
    r"(?:.*[\s:])?(?:Error|error|ERROR)[: ]*(?:code )?-?\d+\.?",
    r".*\bexit(?:ed)?(?: with)?(?: the)?(?: exit)?(?: status| code)?[ :=]*-?\d+\.?",
    r".*\breturned (?:an error code|non-zero exit status|error exit status|exit code)\b.*",
    r"npm (?:ERR!|error)(?: code ELIFECYCLE| errno.*|.* complete log of this run.*|.*-debug.*)? *",
    r"(?:.*: )?Connection reset by peer\.?|.*(?:Couldn't|Could not) connect to server\.?",
    r"curl: \((?:7|22|28|52|56)\).*|wget: .*|.*[Cc]onnection refused\.?",
    r"(?:.*: )?(?:Killed|Terminated|Aborted|Segmentation fault)(?: \(core dumped\))?",
    r"(?:.*: )?(?:command |operation |task |build |script )?(?:failed|FAILED|Failed)[.!]?",
    r"(?:.*: )?(?:an? |unknown |internal |unexpected )?(?:error|Error|ERROR)[.!]?",
    r"Traceback \(most recent call last\):|(?:.*: )?(?:Operation |Connection )?timed out[.!]?",
    r"E: Sub-process .*|.*installed \S+ package .* script subprocess.*",
    r"Run ['\"].+ --help['\"] for more information\.?|Try ['\"].+ --help['\"].*",
    r"hint: .*|note: .*|Aborting\.?",
    r"\W*",
)
_GENERIC = re.compile("|".join(f"(?:{line})" for line in _LINES))


def is_generic(line: str) -> bool:
    """Whether a line says only that something failed, not what is wrong.

    Different failures have such a line in common, so it never tells two of them apart.
    """
    return _GENERIC.fullmatch(line.strip()) is not None
