"""A program of somebody else's as a client: started with the addresses of the lab, ended with it.

CommandClient(name="reader", command=("kcat", "-C", "-b", "{bootstrap}", "-t", "orders", "-e"))
"""

import subprocess
from typing import Final

from kdiag.errors import ConfigError
from kdiag.lab.scenario.scenario import CommandClient

_STOP_S: Final = 5
_BOOTSTRAP: Final = "{bootstrap}"


class ForeignProgram:
    """A program, which is a client of the lab.

    Attributes:
        name: of the client.
        is_lasting: that it may not end by itself.
    """

    is_lasting = False

    def __init__(self, wanted: CommandClient, bootstrap: str) -> None:
        """Prepare it.

        Args:
            wanted: the program.
            bootstrap: the addresses of the lab.
        """
        self.name = wanted.name
        self._command = [each.replace(_BOOTSTRAP, bootstrap) for each in wanted.command]
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_over(self) -> bool:
        """Return whether it has ended."""
        return self._process is not None and self._process.poll() is not None

    @property
    def failure(self) -> str | None:
        """Return that it failed; None if it did not."""
        code = None if self._process is None else self._process.poll()
        return f"{self.name}: exit code {code}" if code else None

    def start(self) -> None:
        """Start it.

        Raises:
            ConfigError: if there is no such program.
        """
        try:
            self._process = subprocess.Popen(  # noqa: S603 - the program that the scenario names
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        except OSError as error:
            raise ConfigError("command", self.name, f"cannot be started: {error}") from None

    def stop(self) -> None:
        """End it, at once if it does not end by itself."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
