import sys
from pathlib import Path

import pytest

from kdiag.diagnosis.buffers.facts import KernelLimits
from kdiag.probe.buffers.kernel_limits import read_kernel_limits


def write(folder: Path, **texts: str) -> None:
    """Write what a kernel would show."""
    for name, text in texts.items():
        file = folder / name.replace("__", "/")
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="ascii")


def test_limits_are_read_as_the_kernel_shows_them(tmp_path: Path) -> None:
    """Single numbers, and triples between tabs."""
    write(
        tmp_path,
        core__wmem_max="212992\n",
        core__rmem_max="425984\n",
        ipv4__tcp_wmem="4096\t16384\t4194304\n",
        ipv4__tcp_rmem="4096\t131072\t6291456\n",
    )
    assert read_kernel_limits(tmp_path) == KernelLimits(
        212992, 425984, (4096, 16384, 4194304), (4096, 131072, 6291456)
    )


@pytest.mark.parametrize("text", ["", "many", "1 2"])
def test_what_cannot_be_read_is_unknown(tmp_path: Path, text: str) -> None:
    """So is all of it where there is no such kernel."""
    write(tmp_path, core__wmem_max=text, ipv4__tcp_rmem=text)
    assert read_kernel_limits(tmp_path) == KernelLimits()
    assert read_kernel_limits(tmp_path / "nowhere") == KernelLimits()


@pytest.mark.skipif(sys.platform != "linux", reason="no such files")
def test_this_machine_tells_its_limits() -> None:
    """At least for TCP: a container may hide the others."""
    limits = read_kernel_limits()
    assert limits.tcp_wmem is not None
    assert limits.tcp_wmem == tuple(sorted(limits.tcp_wmem))
