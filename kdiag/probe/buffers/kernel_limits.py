"""What the kernel of this machine allows of socket buffers.

Source: Linux, `Documentation/networking/ip-sysctl.rst`; tcp(7), socket(7).
"""

from pathlib import Path
from typing import Final

from kdiag.diagnosis.buffers.facts import KernelLimits

_SYSCTLS: Final = Path("/proc/sys/net")
_SIZES: Final = 3


def read_kernel_limits(sysctls: Path = _SYSCTLS) -> KernelLimits:
    """Return the limits; None for those that the system does not tell.

    Args:
        sysctls: where the kernel shows `net.*`.
    """
    return KernelLimits(
        wmem_max=_first(_numbers(sysctls / "core/wmem_max")),
        rmem_max=_first(_numbers(sysctls / "core/rmem_max")),
        tcp_wmem=_triple(_numbers(sysctls / "ipv4/tcp_wmem")),
        tcp_rmem=_triple(_numbers(sysctls / "ipv4/tcp_rmem")),
    )


def _numbers(file: Path) -> list[int]:
    """Return the numbers in a file; none if it cannot be read, as anywhere but on Linux."""
    try:
        return [int(word) for word in file.read_text(encoding="ascii").split()]
    except (OSError, ValueError):
        return []


def _first(numbers: list[int]) -> int | None:
    return numbers[0] if len(numbers) == 1 else None


def _triple(numbers: list[int]) -> tuple[int, int, int] | None:
    return (numbers[0], numbers[1], numbers[2]) if len(numbers) == _SIZES else None
