import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import Vantage, WindowScaling
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp import tracker as tcp_tracker
from kdiag.pcap.tcp.tracker import SynOptions, read_syn_options
from recordings.segment_tape import BROKER, CLIENT, Numbered, Segment, batch_of
from recordings.tcp_story import MS, OPTIONS, Story
from tiers.cases import for_each

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


@pytest.mark.thorough
def test_the_facts_are_the_same_however_packets_are_divided() -> None:
    """They are cut by their order alone, though the round trip becomes shorter all the time."""
    count = 2 * tcp_tracker._ENOUGH_ROWS + 100
    tape, gaps_ns = [Segment(CLIENT, BROKER, 0, 0, 2), Segment(BROKER, CLIENT, 0, 1, 18)], [0, MS]
    for number in range(count):
        sent, told = 1 + 700 * number, 1 + 100 * number
        again = 700 * (number % 3000 == 2999)
        tape.append(Segment(CLIENT, BROKER, sent - again, told, 24, bytes(700)))
        tape.append(Segment(BROKER, CLIENT, told, sent + 700, 24, bytes(100)))
        gaps_ns += [MS + 1000 * (count - number), MS]
    whole = batch_of(tape)._replace(time_ns=np.cumsum(gaps_ns, dtype=np.int64))
    found = []
    for size in (len(tape), 3000, 7):
        decoder = CaptureDecoder(Numbered())
        decoder.follow_tcp()
        items = []
        for first in range(0, len(tape), size):
            rows = slice(first, first + size)
            columns: Any = (None if each is None else each[rows] for each in whole[1:])
            items += decoder.feed(SegmentBatch(whole.data, *columns))
        items += decoder.finish()
        found.append([each.tcp for each in items if isinstance(each, Connection)])
    assert found[0] == found[1] == found[2]
    assert found[0][0] is not None
    assert found[0][0].requests.retransmits > 0
    assert found[0][0].requests.bytes >= 700 * (count - 1)


def nonsense(dice: random.Random) -> Segment:
    """Return a segment with numbers that have nothing to do with those before."""
    ends = dice.choice([(CLIENT, BROKER), (BROKER, CLIENT)])
    near = dice.randrange(4000)
    sequence, acknowledgment = (dice.choice([near, dice.randrange(2**32)]) for _ in range(2))
    flags = dice.choice([16, 16, 16, 16, 24, 2, 18, 17, 4, 0])
    return Segment(*ends, sequence, acknowledgment, flags, bytes(dice.choice([0, 1, 700])))


@pytest.mark.thorough
@given(st.integers(0, 2**32), st.integers(1, 60), st.booleans())
def test_nonsense_is_followed_to_its_end(seed: int, size: int, is_long_ago: bool) -> None:  # noqa: FBT001 - hypothesis
    """Whatever numbers and times packets have, every wait lies between first and last segment."""
    dice = random.Random(seed)
    decoder = CaptureDecoder(Numbered())
    decoder.follow_tcp()
    items = []
    for number in range(3):
        batch = batch_of([nonsense(dice) for _ in range(size)], 1 + number * size)
        span = (0, 2**62) if is_long_ago else (0, 10**9)
        items += decoder.feed(
            batch._replace(
                time_ns=np.array([dice.randrange(*span) for _ in range(size)], np.int64),
                window=np.array([dice.choice([0, 9, 65535]) for _ in range(size)], np.uint16),
            )
        )
    for each in items + decoder.finish():
        if isinstance(each, Connection):
            assert each.tcp is not None
            for way in (each.tcp.requests, each.tcp.responses):
                waits = (way.idle_ns, way.window_full_ns, way.window_closed_ns, way.recovery_ns)
                assert min(*waits, way.held_ns, way.stalled_ns, way.bytes, way.segments) >= 0
                assert sum(waits) + way.held_ns == way.last_ns - way.first_ns


LINUX = bytes.fromhex("020405b4 0402 080a0000000100000000 01 03 03 07")


def test_the_options_of_linux_are_read() -> None:
    """A SYN of Linux offers a segment size, SACK, timestamps and a window scale."""
    assert read_syn_options(LINUX) == SynOptions(1460, 7, sack_permitted=True, timestamps=True)


def test_no_options_offer_nothing() -> None:
    """An end that sends none takes segments of any size and scales nothing."""
    assert read_syn_options(b"") == SynOptions()


def test_the_largest_shift_is_fourteen() -> None:
    """RFC 7323 has a larger one treated as 14."""
    assert read_syn_options(b"\x03\x03\xff").window_scale == 14


@for_each("bad", ["0304", "03", "0300", "030100", "02ff05b4"])
def test_an_option_that_makes_no_sense_ends_the_list(bad: str) -> None:
    """What was read before it counts."""
    assert read_syn_options(b"\x04\x02" + bytes.fromhex(bad)) == SynOptions(sack_permitted=True)


def test_what_follows_the_end_is_padding() -> None:
    """An option behind the end of the list is none."""
    assert read_syn_options(b"\0" + LINUX) == SynOptions()


def test_an_option_of_a_wrong_size_is_passed_over() -> None:
    """A window scale of two bytes says nothing; the next option does."""
    assert read_syn_options(b"\x03\x04\x07\x07\x04\x02") == SynOptions(sack_permitted=True)


@given(st.binary(max_size=40))
def test_any_bytes_are_options(options: bytes) -> None:
    """Nothing on the wire makes reading fail, and a shift is never too large."""
    assert (read_syn_options(options).window_scale or 0) <= 14
