"""A package that stands in for Celery: pip installs it, and its program only waits."""

import base64
import hashlib
import io
import zipfile
from typing import Final

CELERY_AT: Final = "simple/celery/celery-5.9-py3-none-any.whl"
"""Where pip looks for it below its index."""


def celery_wheel() -> bytes:
    """The package, with a program `celery`."""
    code = "import signal\n\ndef main():\n    signal.pause()\n"
    about = "celery-5.9.dist-info"
    written = {
        "celery_stand_in.py": code,
        f"{about}/METADATA": "Metadata-Version: 2.1\nName: celery\nVersion: 5.9\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": "[console_scripts]\ncelery = celery_stand_in:main\n",
    }
    digests = {
        name: base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
        for name, text in written.items()
    }
    lines = [f"{name},sha256={digests[name]},{len(text)}" for name, text in written.items()]
    written[f"{about}/RECORD"] = "\n".join([*lines, f"{about}/RECORD,,", ""])
    wheel = io.BytesIO()
    with zipfile.ZipFile(wheel, "w") as made:
        for name, text in written.items():
            made.writestr(name, text)
    return wheel.getvalue()
