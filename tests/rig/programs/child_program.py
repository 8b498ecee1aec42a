"""A program that a test starts, and that does not outlive a failure of the test."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Final

_LOOK_S: Final = 0.02


class ChildProgram(subprocess.Popen[bytes]):
    """A process: where an exception leaves its `with` block, nobody waits for what it does."""

    def __exit__(self, *raised: object) -> None:
        """Close the pipes and wait for the end, which an exception brings about at once."""
        if raised[0] is not None:
            self.kill()
        super().__exit__(*raised)  # type: ignore[arg-type]

    def lasts_until(self, happens: Callable[[], bool]) -> bool:
        """Wait for something to happen; false if the program ends before."""
        while self.poll() is None:
            if happens():
                return True
            with suppress(subprocess.TimeoutExpired):
                self.wait(_LOOK_S)
        return False
