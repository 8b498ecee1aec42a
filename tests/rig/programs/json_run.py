"""Runs of commands that connect, and what they say as JSON.

done = said("check", "127.0.0.1:9092", "--quick")
done.code, done.ids, done.rows("TLS")
"""

import json
import time
from pathlib import Path
from typing import Any, Final, NamedTuple

from programs.kdiag_program import kdiag
from real_kafka.secure_cluster import SecureCluster

SOON_S: Final = 3.0
"""Every fault is named in less than this."""
_SCHEDULER: Final = Path("/proc/thread-self/schedstat")
"""Linux's account of a thread: nanoseconds that it ran, and that it waited for a CPU."""


class Said(NamedTuple):
    """What one run said."""

    code: int
    document: dict[str, Any]

    @property
    def ids(self) -> list[str]:
        """Return the ids of the findings."""
        return [each["id"] for each in self.document["findings"]]

    def rows(self, stage: str) -> list[dict[str, Any]]:
        """Return the rows of a stage."""
        return [each for each in self.document["data"] if each["stage"] == stage]


def said(command: str, address: str, *arguments: object) -> Said:
    """Run a command that must be done soon, but for the time in which others had the CPU."""
    began_s = time.monotonic() - _delayed_s()
    done = kdiag(*command.split(), "-b", address, *arguments, "-o", "json")
    took_s = time.monotonic() - _delayed_s() - began_s
    assert took_s < SOON_S, f"{took_s:.1f} s"
    return Said(done.code, json.loads(done.out))


def _delayed_s() -> float:
    """Return for how long this thread has waited for a CPU; 0 where the system does not say."""
    try:
        return int(_SCHEDULER.read_text(encoding="ascii").split()[1]) / 1e9
    except OSError:
        return 0.0


def settings(**properties: object) -> list[str]:
    """Return options for settings; names have underscores for dots."""
    pairs = [f"{key.replace('_', '.')}={value}" for key, value in properties.items()]
    return [option for pair in pairs for option in ("-X", pair)]


def trusting(cluster: SecureCluster, protocol: str = "SSL") -> list[str]:
    """Return options for TLS with the cluster's authority."""
    return settings(security_protocol=protocol, ssl_ca_location=cluster.certificates.authority)
