import pytest

from kdiag.pcap import tcp_tracker
from kdiag.wire.tcp_facts import Vantage, WindowScaling
from tcp_story import MS, OPTIONS, Story

UNSCALED = [each for each in OPTIONS if each[0] != "WScale"]


def test_the_handshake_tells_how_far_both_ends_are() -> None:
    """From SYN to SYN/ACK it is to the broker, from there to the ACK to the client."""
    facts = Story().open(client_ms=1, broker_ms=19).facts()
    assert (facts.client_rtt_ns, facts.broker_rtt_ns, facts.rtt_ns) == (MS, 19 * MS, 20 * MS)
    assert facts.vantage is Vantage.CLIENT


def test_without_a_handshake_data_tells_it() -> None:
    """Requests are acknowledged by the broker, responses by the client."""
    story = Story().client(30, size=100).broker(49, size=50).client(50)
    facts = story.facts()
    assert (facts.client_rtt_ns, facts.broker_rtt_ns) == (MS, 19 * MS)
    assert not facts.has_handshake
    assert facts.window_scaling is WindowScaling.UNKNOWN


def test_a_handshake_with_a_lost_syn_measures_nothing() -> None:
    """Which of the SYNs was answered is not known."""
    story = Story().packet(0, 0, flags="S", options=OPTIONS, start=-1, reached=0)
    story.packet(0, 1000, flags="S", options=OPTIONS, start=-1, reached=0)
    story.packet(1, 1019, flags="SA", options=OPTIONS, start=-1, reached=0).client(1020)
    facts = story.facts()
    assert (facts.client_rtt_ns, facts.broker_rtt_ns) == (None, None)
    assert facts.has_handshake


def test_the_offers_of_both_ends_are_kept() -> None:
    """Each end tells what it takes; what only one offers is not used."""
    story = Story().open(client_options=OPTIONS, broker_options=[("MSS", 1400), ("WScale", 3)])
    facts = story.facts()
    assert (facts.requests.mss, facts.requests.window_scale) == (1400, 3)
    assert (facts.responses.mss, facts.responses.window_scale) == (1460, 7)
    assert (facts.has_sack, facts.has_timestamps) == (False, False)


@pytest.mark.parametrize(
    ("client", "broker", "scaling"),
    [
        (OPTIONS, OPTIONS, WindowScaling.ON),
        (OPTIONS, UNSCALED, WindowScaling.CLIENT_ONLY),
        (UNSCALED, UNSCALED, WindowScaling.OFF),
    ],
)
def test_windows_are_shifted_only_if_both_ends_offer_it(
    client: list[object], broker: list[object], scaling: WindowScaling
) -> None:
    """A lost offer leaves windows as they are in the packets."""
    story = Story().open(client_options=client, broker_options=broker)
    facts = story.client(30, size=1000).broker(49, window=512).facts()
    assert facts.window_scaling is scaling
    assert facts.requests.window is not None
    assert facts.requests.window.most == (65536 if scaling is WindowScaling.ON else 512)


def test_a_new_connection_of_the_same_ends_begins_anew() -> None:
    """A reset and another SYN: the second connection has no part of the first."""
    story = Story().open().client(30, size=1000).packet(0, 31, flags="R")
    facts = story.facts()
    assert (facts.requests.bytes, facts.requests.segments) == (1000, 1)


def test_a_cut_syn_offers_nothing_that_is_known() -> None:
    """With a snap length of 60 bytes the options are not there, and nothing is made up."""
    story = Story().open().client(30, size=1000).broker(49)
    story.packets = [
        packet._replace(data=packet.data[:60], original=len(packet.data))
        for packet in story.packets
    ]
    facts = story.facts()
    assert facts.window_scaling is WindowScaling.UNKNOWN
    assert (facts.requests.bytes, facts.rtt_ns) == (1000, 20 * MS)


def test_much_is_looked_at_together_and_little_at_the_end() -> None:
    """Rows wait until there are enough of them; the rest is not forgotten."""
    story = Story().open()
    for number in range(tcp_tracker._ENOUGH_ROWS // 2 + 10):
        story.client(30 + number, size=10).broker(30.5 + number)
    assert story.facts().requests.segments == tcp_tracker._ENOUGH_ROWS // 2 + 10
