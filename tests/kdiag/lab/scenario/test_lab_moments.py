import pytest

from kdiag.clock import SystemClock
from kdiag.errors import RequestTimeoutError
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.lab_moments import LabWatch
from kdiag.lab.scenario.scenario import GroupMoment, InSyncMoment, LabMoment, RequestMoment
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from lab_ends.lab_client import LabClient

ASKING = MetadataRequest(topics=None)


def test_requests_count_from_the_last_mark_on(lab: KafkaLab, watch: LabWatch) -> None:
    """Those of a client by its name, with `*`."""
    with LabClient(lab.cluster.nodes[0].port) as client:
        client.ask(ASKING, MetadataResponse, 12)
        moment = LabMoment(requests=RequestMoment(api="Metadata", client="lab-*"))
        watch.await_moment(moment, lab, {})
        watch.mark()
        late = LabWatch(SystemClock(), 0)
        client.ask(ASKING, MetadataResponse, 12)
        watch.await_moment(moment, lab, {})
    with pytest.raises(RequestTimeoutError, match="1 requests Metadata of lab-"):
        late.await_moment(moment, lab, {})


def test_what_was_waited_for_in_vain_is_said(lab: KafkaLab) -> None:
    """Of each kind of moment."""
    over = LabWatch(SystemClock(), 0)
    moments = {
        "group billing to be Stable with 2 members; it is Dead with 0": LabMoment(
            group=GroupMoment(name="billing", members=2)
        ),
        r"3 replicas in sync of orders; there are \[1\]": LabMoment(
            in_sync=InSyncMoment(topic="orders", replicas=3)
        ),
        "faults to happen 2 times; they have 0 times": LabMoment(fired=2),
        "the end of nobody": LabMoment(ended=("nobody",)),
    }
    for text, moment in moments.items():
        with pytest.raises(RequestTimeoutError, match=text):
            over.await_moment(moment, lab, {})
    over.await_moment(LabMoment(in_sync=InSyncMoment(topic="orders", replicas=1)), lab, {})
