"""A stream of short connections, as from health checks, watched for long: nothing of them stays."""

import gc
import random
import sys

import pytest

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.selection import Selection
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag_cli.captures.pipeline import ExchangePipeline
from recordings.exchange_maker import request_bytes, response_bytes
from recordings.segment_tape import CLIENT, START_NS, Numbered, Talk, batch_of, sized

ASKED = sized(request_bytes(ApiVersionsRequest(), 0))
TOLD = sized(response_bytes(ApiVersionsResponse(), 0))
PACKET_NS = 100_000_000
"""A connection takes 0.8 s: what is remembered for two minutes is that of 150 of them."""

EACH = 350


class Watch:
    """Counts what short connections say, as `kdiag decode --live --summary` does."""

    def __init__(self) -> None:
        names = TopicNames()
        self.decoder = CaptureDecoder(Numbered())
        self.decoder.link_sightings()
        self.pipeline = ExchangePipeline(names, Selection(), None, None, may_wait=False)
        self.pipeline.judge(Traffic(names), CaptureEvents(names.name))
        self._chance = random.Random(5)
        self._count = 0

    def see(self, connections: int) -> int:
        """Watch some more; return how many blocks of memory Python has then."""
        for _ in range(connections):
            starts = (
                self._chance.randrange(1 << 20, 1 << 32),
                self._chance.randrange(1 << 20, 1 << 32),
            )
            talk = Talk(CLIENT + self._count, starts=starts).open().ask(ASKED).tell(TOLD).close()
            batch = batch_of(talk.segments, 8 * self._count + 1)
            batch = batch._replace(time_ns=START_NS + batch.packet * PACKET_NS)
            self._count += 1
            self.pipeline.add(self.decoder.feed(batch))
        gc.collect()
        return sys.getallocatedblocks()


@pytest.mark.thorough
def test_connections_that_ended_leave_nothing_behind() -> None:
    """Each counts; what it took is free again, but for what a last packet may need for a while."""
    watch = Watch()
    watch.see(EACH)
    before = watch.see(EACH)
    after = watch.see(EACH)

    assert watch.pipeline.summary.exchanges > 3 * EACH - 250
    assert after - before < 2 * EACH, "one of each is a latency that waits to be counted"
