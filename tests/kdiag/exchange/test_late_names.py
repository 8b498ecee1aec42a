from kdiag.exchange.dissection import Dissection
from kdiag.exchange.late_names import LateNames
from kdiag.exchange.topic_names import TopicNames
from kdiag.wire.api.fetch import FetchRequest, FetchTopic
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from recordings.exchange_maker import make_exchange


def fetch(last_byte: int) -> Dissection:
    """Return a fetch from the topic whose id ends with a byte."""
    topic = FetchTopic(topic_id=bytes(15) + bytes([last_byte]))
    return Dissection(make_exchange(FetchRequest(topics=[topic]), version=13))


def metadata(last_byte: int) -> Dissection:
    """Return an exchange that tells the name of that topic."""
    topic = MetadataResponseTopic(name=f"t{last_byte}", topic_id=bytes(15) + bytes([last_byte]))
    answered = MetadataResponse(topics=[topic])
    return Dissection(make_exchange(MetadataRequest(), answered, version=12))


def test_looking_ahead_happens_once_and_only_if_a_name_is_missing() -> None:
    """The first id without a name settles all that follow, named or not."""
    names = TopicNames()
    looks: list[int] = []
    late = LateNames(names, lambda: looks.append(len(names)))
    known, unknown = metadata(5), fetch(6)
    names.learn(known)
    assert late.take(known) == [known]
    assert looks == []
    assert late.take(unknown) == [unknown]
    assert late.take(unknown) == [unknown]
    assert len(looks) == 1
    assert late.finish() == []


def test_without_looking_ahead_an_exchange_waits_for_its_name() -> None:
    """Others pass it; it goes on with the next exchange after its name was told."""
    names = TopicNames()
    late = LateNames(names, None)
    waiting, hopeless, telling = fetch(6), fetch(9), metadata(6)
    assert late.take(waiting) == []
    assert late.take(hopeless) == []
    names.learn(telling)
    assert late.take(telling) == [waiting, telling]
    assert late.finish() == [hopeless]
    assert late.finish() == []


def test_no_more_exchanges_wait_than_are_allowed() -> None:
    """The oldest goes on without a name, by number or by size."""
    first, second = fetch(6), fetch(7)
    by_number = LateNames(TopicNames(), None, max_exchanges=1)
    assert by_number.take(first) == []
    assert by_number.take(second) == [first]
    by_size = LateNames(TopicNames(), None, max_bytes=100)
    assert by_size.take(first) == []
    assert by_size.take(second) == [first]
