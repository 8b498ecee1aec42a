"""A real browser, to see pages as people do: Chromium without a window."""

import re
import shutil
import subprocess
import tempfile
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

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
_CONSOLE: Final = re.compile(r"CONSOLE.*?\] (.*)")
_VIRTUAL_MS: Final = 20_000


class UsedPage(NamedTuple):
    """A page after a program used it.

    Attributes:
        dom: its elements as HTML.
        console: what the browser, or the page, said to its developers.
    """

    dom: str
    console: list[str]


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


def used(page: Path, program: str, *options: str) -> UsedPage:
    """Return a page after a program has used it: it runs in the page, once that says it is ready.

    Args:
        page: sets `data-ready` on its root element when everything is drawn.
        program: statements of JavaScript, which may wait. The page's policy is changed to let
            them run, and nothing else.
        options: of the browser.
    """
    browser = require_browser()
    waiting = (
        "(async () => { const root = document.documentElement;"
        " while (!root.dataset.ready) await new Promise((done) => setTimeout(done, 50));"
        f" {program} }})();"
    )
    allowed = b64encode(sha256(waiting.encode()).digest()).decode()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "page.html")
        text = page.read_text(encoding="utf-8")
        text = text.replace("script-src ", f"script-src 'sha256-{allowed}' ", 1)
        start, body, end = text.rpartition("</body>")
        copy.write_text(f"{start}<script>{waiting}</script>{body}{end}", encoding="utf-8")
        done = subprocess.run(
            [
                browser,
                *_OPTIONS,
                *("--enable-logging=stderr", f"--virtual-time-budget={_VIRTUAL_MS}", *options),
                *(f"--user-data-dir={folder}/profile", "--dump-dom", copy.as_uri()),
            ],
            capture_output=True,
            text=True,
            check=True,
            timeout=_TIMEOUT_S,
        )
    return UsedPage(done.stdout, _CONSOLE.findall(done.stderr))
