"""Each fault of a connection that needs no broker, by its layer, finding and exit code."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, NamedTuple

import pytest

from client_ends.client_peers import closed_port, full_server, silent_server
from programs.json_run import said, settings
from scripted_kafka.foreign_server import (
    CUT_SHORT,
    HTTP,
    SERVER_HELLO,
    TOO_LONG,
    hanging_up,
    saying,
)
from tiers.cases import for_each

TLS: Final = settings(security_protocol="SSL")
LOGIN: Final = settings(
    security_protocol="SASL_PLAINTEXT", sasl_mechanism="PLAIN", sasl_username="a", sasl_password="b"
)


@contextmanager
def nobody() -> Iterator[int]:
    """Yield a port where nobody listens."""
    yield closed_port()


class Fault(NamedTuple):
    """A server, what it is asked with, and what is to be said."""

    server: Callable[[], AbstractContextManager[int]]
    options: list[str]
    stage: str
    finding: str
    words: str


FAULTS: Final = {
    "wrong port": Fault(nobody, [], "TCP", "KD1101", "connection refused"),
    "packets are dropped": Fault(full_server, [], "TCP", "KD1102", "packets are dropped"),
    "silent": Fault(silent_server, [], "ApiVersions", "KD1402", "did not answer the ApiVersions"),
    "silent to TLS": Fault(silent_server, TLS, "TLS", "KD1402", "did not answer the TLS handshake"),
    "HTTP": Fault(lambda: saying(HTTP), [], "ApiVersions", "KD1403", "a web server answered"),
    "HTTP to TLS": Fault(lambda: saying(HTTP), TLS, "TLS", "KD1403", "a web server answered"),
    "it hangs up": Fault(hanging_up, [], "ApiVersions", "KD1408", "a TLS handshake either"),
    "it hangs up on a login": Fault(
        hanging_up, LOGIN, "ApiVersions", "KD1408", "TLS handshake either"
    ),
    "it hangs up on plaintext": Fault(
        lambda: hanging_up(SERVER_HELLO), [], "TLS", "KD1401", "hung up on plaintext"
    ),
    "a length that lies": Fault(
        lambda: saying(TOO_LONG), [], "ApiVersions", "KD1404", "7f ff ff ff, which is 2147483647"
    ),
    "an answer that is cut short": Fault(
        lambda: saying(CUT_SHORT), [], "ApiVersions", "KD1404", "announced 1048576 bytes"
    ),
}


AWAITED: Final = {
    "packets are dropped",
    "silent",
    "silent to TLS",
    "an answer that is cut short",
}
"""Two seconds pass until kdiag gives up."""
TIERED: Final = [
    pytest.param(each, marks=pytest.mark.soak if each in AWAITED else pytest.mark.thorough)
    for each in FAULTS
]


@pytest.mark.parametrize("fault", TIERED)
@for_each("command", ["check", "check --quick", "find-coordinator orders"])
def test_each_fault_has_its_layer_its_finding_and_its_exit_code(fault: str, command: str) -> None:
    """In less than three seconds."""
    server, options, stage, finding, words = FAULTS[fault]
    with server() as port:
        done = said(command, f"127.0.0.1:{port}", *options)

    assert (done.code, done.ids) == (3, [finding])
    (found,) = done.document["findings"]
    assert words in found["evidence"]["why"]
    assert found["fix"]
    failed = [each["stage"] for each in done.document["data"] if each["status"] == "error"]
    assert failed == ([stage] if command.startswith("check") else [])


@pytest.mark.parametrize("command", ["check", "check --quick", "find-coordinator orders"])
def test_an_unknown_host_is_a_matter_of_dns(command: str) -> None:
    """A name of the domain that is kept for that."""
    done = said(command, "no-such-host.invalid:9092")

    assert done.code == 3
    assert done.ids[0] in {"KD1001", "KD1002"}  # a machine without name servers cannot ask
    assert "no-such-host.invalid" in done.document["findings"][0]["title"]
