import re

import pytest

from kdiag_cli.commands.lab.demo.script import CODECS
from programs.kdiag_program import kdiag_apart

pytestmark = pytest.mark.soak


def test_the_demo_shows_what_it_says() -> None:
    """Each command is printed as it is run, and does what it should; a fault is found."""
    done = kdiag_apart("demo")
    assert done.code == 0
    assert "error KD4501: cashier cannot write to payments[0]: 2 of 2 Produce" in done.out
    commands = re.findall(r"^\$ kdiag (\S+)", done.out, re.MULTILINE)
    assert commands[0] == "lab"
    shown = {"request", "find-coordinator", "tail", "groups", "decode", "rebalance"}
    assert shown <= {*commands}
    for codec in CODECS:
        assert re.search(rf"Produce v12 .* 12 records .* {codec}, acks all", done.out)
    assert '"codec": "zstd"' in done.out
    assert re.search(
        r"^billing\tclassic\tStable\t1\tconsumer\trange\t2\t3\t0\t", done.out, re.MULTILINE
    )
    assert re.search(
        r"^billing\tclassic\t2\t.*member joined\tcertain\treader-2 ", done.out, re.MULTILINE
    )
    assert re.search(rf"{len(commands)} commands in \d+\.\d s", done.out)
