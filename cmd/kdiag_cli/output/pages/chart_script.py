"""The script that draws charts in a browser: Vega-Lite with all that it needs, as one text.

The library that has it takes seconds to put it together, and nothing else of Python runs meanwhile.
So a process of its own does that, while captures are read, and what it made is kept in the folder
for caches: `$XDG_CACHE_HOME/kdiag`, which is `~/.cache/kdiag` unless it is set.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Final

from kdiag.errors import ConfigError
from kdiag_cli.output.pages.html_page import require_drawer

_SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"
_PROGRAM: Final = (
    "import sys, vl_convert; "
    "sys.stdout.buffer.write(vl_convert.javascript_bundle(sys.argv[1]).encode())"
)
_TIMEOUT_S: Final = 300
_LEAST_BYTES: Final = 100_000


class ChartScript:
    """Has the script made, or takes the one that was kept."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Begin.

        Args:
            environment: says where caches are.

        Raises:
            ConfigError: if the library is missing; says how to install it.
        """
        require_drawer()
        name = hashlib.sha256(f"{version('vl-convert-python')} {_SNIPPET}".encode()).hexdigest()
        self._file = _cache_folder(environment) / f"vega-{name[:16]}.js"
        self._text = self._kept()
        self._maker: subprocess.Popen[bytes] | None = None
        if self._text is None:
            self._maker = subprocess.Popen(  # noqa: S603 - this Python, and nothing of a user's
                [sys.executable, "-c", _PROGRAM, _SNIPPET],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )

    def text(self) -> str:
        """Return the script once it is made.

        Raises:
            ConfigError: if the library fails.
        """
        if self._maker is not None:
            made = self._finish(self._maker)
            self._maker = None
            self._text = made.decode()
            self._keep(made)
        assert self._text is not None
        return self._text

    def discard(self) -> None:
        """End what still makes it: nobody wants it any more."""
        if self._maker is not None:
            self._maker.kill()
            self._maker.communicate()
            self._maker = None

    def _finish(self, maker: "subprocess.Popen[bytes]") -> bytes:
        try:
            made, _ = maker.communicate(timeout=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.discard()
            made = b""
        if maker.returncode or len(made) < _LEAST_BYTES or b"</script" in made.lower():
            raise ConfigError("--html", "option", "the library that draws charts has failed")
        return made

    def _kept(self) -> str | None:
        """Return the script that an earlier run has kept; None if there is none."""
        try:
            text = self._file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None
        is_whole = len(text) >= _LEAST_BYTES and "</script" not in text.lower()
        return text if is_whole else None

    def _keep(self, made: bytes) -> None:
        """Keep the script; where that is not possible, the next run makes it again."""
        part = self._file.with_suffix(f".{os.getpid()}.part")
        try:
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            part.write_bytes(made)
            part.replace(self._file)
        except OSError:
            with suppress(OSError):
                part.unlink()


def _cache_folder(environment: Mapping[str, str]) -> Path:
    named = environment.get("XDG_CACHE_HOME", "")
    if named and Path(named).is_absolute():
        return Path(named, "kdiag")
    return Path(environment.get("HOME") or "/nonexistent", ".cache", "kdiag")
