from kdiag.exchange.mentions import mentions_of
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kdiag.wire.api.join_group import JoinGroupRequest
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseTopic
from kdiag.wire.api.produce import ProduceRequest

ID = bytes(15) + b"\x07"


def test_the_first_error_is_the_first_in_field_order() -> None:
    """A partition's error counts if nothing before it failed."""
    first_error = mentions_of(FetchResponse, 12).first_error
    partitions = [PartitionData(error_code=0), PartitionData(error_code=3)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=partitions)])
    assert first_error is not None
    assert first_error(response) == 3
    response.error_code = 70
    assert first_error(response) == 70
    assert first_error(FetchResponse()) == 0


def test_a_version_is_asked_only_for_the_fields_that_it_has() -> None:
    """Fetch names topics up to version 12 and gives ids from 13 on."""
    request = FetchRequest(topics=[FetchTopic(topic="orders", topic_id=ID)])
    for version, expected in ((12, ({"orders"}, set())), (13, (set(), {ID}))):
        names: set[str] = set()
        ids: set[bytes] = set()
        find = mentions_of(FetchRequest, version).topics
        assert find is not None
        find(request, names, ids)
        assert (names, ids) == expected


def test_a_message_that_cannot_mention_something_has_no_question_for_it() -> None:
    """A JoinGroup request names a group, but neither topics nor errors nor records."""
    asks = mentions_of(JoinGroupRequest, 5)
    groups: set[str] = set()
    assert asks.groups is not None
    asks.groups(JoinGroupRequest(group_id="billing"), groups)
    assert groups == {"billing"}
    assert (asks.topics, asks.first_error, asks.records, asks.pairs) == (None, None, None, None)


def test_pairs_of_topic_id_and_name_are_told_together() -> None:
    """A Metadata response gives each topic's id with its name."""
    learn = mentions_of(MetadataResponse, 12).pairs
    assert learn is not None
    pairs: list[tuple[bytes, str | None]] = []
    topic = MetadataResponseTopic(name="orders", topic_id=ID)
    learn(MetadataResponse(topics=[topic]), lambda *pair: pairs.append(pair))
    assert pairs == [(ID, "orders")]


def test_transactional_ids_and_nulls_are_found_as_they_are() -> None:
    """What is null on the wire is None here, too; the caller leaves it out."""
    find = mentions_of(ProduceRequest, 9).transactions
    assert find is not None
    for transactional_id in ("payments", None):
        found: set[str | None] = set()
        find(ProduceRequest(transactional_id=transactional_id), found)  # type: ignore[arg-type]
        assert found == {transactional_id}
