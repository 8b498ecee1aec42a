"""A real browser, to see pages as people do: Chromium without a window."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from real_kafka.kafka_jars import UnavailableError

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_TIMEOUT_S: Final = 60


def require_browser() -> str:
    """Return the browser's path.

    Raises:
        UnavailableError: if there is none.
    """
    found = (path for name in _NAMES if (path := shutil.which(name)))
    browser = next(found, None)
    if browser is None:
        raise UnavailableError("not installed: chromium")
    return browser


def shown(page: Path) -> str:
    """Return a page as the browser has it once it is loaded: its elements as HTML."""
    browser = require_browser()
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [browser, *_OPTIONS, f"--user-data-dir={profile}", "--dump-dom", page.as_uri()],
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_S,
        )
    return done.stdout
