"""The command that shows more of a finding in captures.

KD4106, a hot partition     kdiag report hot traffic.pcap -p topic=orders
KD4303, a request given up  kdiag decode traffic.pcap --show 42
KD3304, about a group       kdiag rebalance explain traffic.pcap --group orders
any other                   kdiag help KD1407
"""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules

_REPORTS: Final = {
    "KD4101": ("throughput", ""),
    "KD4102": ("throughput", ""),
    "KD4103": ("throughput", "topic"),
    "KD4106": ("hot", "topic"),
    "KD4202": ("commits", "group"),
    "KD4301": ("metadata", ""),
    "KD4302": ("waits", ""),
    "KD4401": ("latency", ""),
    "KD5101": ("compat", ""),
}
"""The report on a finding, and the parameter that a name in its evidence is given to."""

_MOST_FILES: Final = 3


def command_for(finding: "Finding", files: Sequence[str]) -> str:
    """Return the command that shows more of a finding.

    Args:
        finding: the finding.
        files: the captures that it is from; none if they were not kept.
    """
    evidence = finding.evidence
    if not files or len(files) > _MOST_FILES or "-" in files:
        return f"kdiag help {finding.id}"
    if finding.id in _REPORTS:
        name, parameter = _REPORTS[finding.id]
        words = ["kdiag", "report", name, *files]
        return shlex.join(
            [*words, "-p", f"{parameter}={evidence[parameter]}"] if parameter else words
        )
    if evidence.get("exchange"):
        return shlex.join(["kdiag", "decode", *files, "--show", str(evidence["exchange"])])
    match finding.id[:3]:
        case "KD3":
            words = ["kdiag", "rebalance", "explain", *files, "--group", evidence["group"]]
            if "generation" in evidence:
                words += ["--generation", str(evidence["generation"])]
        case "KD6":
            words = ["kdiag", "tune-buffers", *files]
        case "KD1" if "address" in evidence:
            words = ["kdiag", "decode", *files, "--all", "--errors"]
            words += ["--broker", evidence["address"]]
        case _:
            words = ["kdiag", "help", finding.id]
    return shlex.join(words)
