import logging
import subprocess
import sys
import warnings

import pytest
from scapy.layers.inet import IP, TCP
from scapy.layers.ppp import PPP
from scapy.packet import Packet

from kdiag.pcap.packets.scapy_layers import find_ip

INNER = IP(src="10.0.0.1", dst="10.0.0.2") / TCP()


class Noisy(Packet):
    """A dissector that says what it thinks."""

    def do_dissect(self, s: bytes) -> bytes:
        """Warn in both of the ways that there are."""
        logging.getLogger("scapy.runtime").error("strange bytes")
        warnings.warn("strange bytes", stacklevel=1)
        return s

    def guess_payload_class(self, payload: bytes) -> type[Packet]:
        """Return IP, or what is no packet at all."""
        if payload == b"broken":
            raise ValueError(payload)
        return IP


def test_the_place_of_the_ip_header_is_found() -> None:
    """It is none where there is no IP packet."""
    heads = [bytes(PPP() / INNER), bytes(PPP(proto=0xC021)), b""]

    assert find_ip("scapy.layers.ppp.PPP", heads) == [2, -1, -1]


def test_a_dissector_that_raises_fails_alone() -> None:
    """The packets behind it are read."""
    assert find_ip("scapy.layers.inet.NoSuchClass", [b"x"]) == [None]
    assert find_ip(f"{__name__}.Noisy", [b"broken", bytes(INNER)]) == [None, 0]


def test_scapy_is_silent_while_it_works_and_as_before_afterwards() -> None:
    """Its loggers and warnings belong to whoever else uses it."""
    assert find_ip(f"{__name__}.Noisy", [bytes(INNER)]) == [0]
    assert not logging.getLogger("scapy.runtime").disabled


@pytest.mark.thorough
def test_loading_it_prints_nothing() -> None:
    """Not even where a layer warns of what its libraries will do some day."""
    program = (
        "from kdiag.pcap.packets import dissector, scapy_layers\n"
        "for each in dissector.DISSECTORS.values(): scapy_layers.find_ip(each, [b'x'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "default", "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert (done.stdout, done.stderr) == ("", "")
