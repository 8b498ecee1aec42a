from typing import Any, cast

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.records.topic_partitions import requested_topic
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.schema import ZERO_UUID


def test_topics_are_named_or_have_ids(lab: LabCluster) -> None:
    """A name is taken as it is, an id is looked up."""
    topic_id = lab.controller.image.topics["orders"].topic_id
    nobody = cast("Any", None)
    call = ApiCall(lab.nodes[0].dispatch.node, 13, None, "peer:1", nobody, nobody, nobody)
    named = requested_topic("nothing", ZERO_UUID, call)
    known = requested_topic("", topic_id, call)
    unknown = requested_topic("", b"x" * 16, call)
    assert (named.name, named.is_unknown_id) == ("nothing", False)
    assert (known.name, known.topic_id, known.is_unknown_id) == ("orders", topic_id, False)
    assert (unknown.name, unknown.is_unknown_id) == ("", True)
