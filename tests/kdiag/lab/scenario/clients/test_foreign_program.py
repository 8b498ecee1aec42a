import sys

import pytest

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.errors import ConfigError
from kdiag.lab.scenario.clients.foreign_program import ForeignProgram
from kdiag.lab.scenario.lab_moments import LabWatch
from kdiag.lab.scenario.scenario import CommandClient

pytestmark = pytest.mark.thorough


def program(*command: str) -> ForeignProgram:
    """Return a program that knows where the lab is."""
    return ForeignProgram(CommandClient(name="other", command=command), "127.0.0.1:1")


def test_a_program_gets_the_addresses_and_its_end_is_told() -> None:
    """One that does not end is ended; one that is not there is said."""
    clock = SystemClock()
    watch = LabWatch(clock, clock.monotonic_ns() + 60 * NS_PER_S)
    code = "import sys; sys.exit(3 if sys.argv[1] == '127.0.0.1:1' else 0)"
    told = program(sys.executable, "-c", code, "{bootstrap}")
    told.start()
    watch.await_ends({"other": told})
    assert told.failure == "other: exit code 3"
    endless = program(sys.executable, "-c", "import time; time.sleep(600)")
    endless.start()
    endless.stop()
    assert endless.is_over
    with pytest.raises(ConfigError, match="cannot be started"):
        program("/no/such/program").start()
