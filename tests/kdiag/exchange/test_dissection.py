from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Status
from kdiag.wire.api.fetch import FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.produce import ProduceRequest, ProduceResponse
from recordings.exchange_maker import make_exchange


def test_an_exchange_is_as_bad_as_its_worst_part() -> None:
    """Pairing and both sides are held against each other in the order of severity."""
    asked = FindCoordinatorRequest(key="g")
    whole = make_exchange(asked, FindCoordinatorResponse(), version=0)
    assert Dissection(whole).status is Status.OK
    unanswered = make_exchange(asked, version=0, pairing=Status.UNANSWERED)
    assert Dissection(unanswered).status is Status.UNANSWERED
    broken = make_exchange(asked, b"\x00\x00\x00\x07\x00", version=0, pairing=Status.UNANSWERED)
    assert Dissection(broken).status is Status.MALFORMED


def test_the_error_is_named() -> None:
    """The code of the response becomes Kafka's name, 0 none."""
    asked = FindCoordinatorRequest(key="g")
    failed = make_exchange(asked, FindCoordinatorResponse(error_code=15), version=0)
    assert Dissection(failed).error == "COORDINATOR_NOT_AVAILABLE"
    fine = make_exchange(asked, FindCoordinatorResponse(), version=0)
    assert Dissection(fine).error is None
    assert Dissection(make_exchange(asked, version=0)).error is None


def test_a_side_is_read_once() -> None:
    """Whoever asks again gets the same object."""
    dissection = Dissection(make_exchange(ProduceRequest(), ProduceResponse(), version=3))
    assert dissection.request is dissection.request
    assert dissection.response is dissection.response
    assert len(dissection.sides) == 2


def test_groups_are_found_in_find_coordinator_by_the_type_of_its_key() -> None:
    """A key may be a group or a transactional id; before version 4 there is one."""
    many = FindCoordinatorRequest(coordinator_keys=["a", "b"])
    assert Dissection(make_exchange(many, version=4)).groups == {"a", "b"}
    one = FindCoordinatorRequest(key="a")
    assert Dissection(make_exchange(one, version=1)).groups == {"a"}
    transaction = FindCoordinatorRequest(key="a", key_type=1)
    assert Dissection(make_exchange(transaction, version=1)).groups == set()


def test_transactional_ids_are_found() -> None:
    """A Produce request of a transaction names it, any other has null."""
    within = Dissection(make_exchange(ProduceRequest(transactional_id="pay"), version=3))
    assert within.transactional_ids == {"pay"}
    assert Dissection(make_exchange(ProduceRequest(), version=3)).transactional_ids == set()


def test_topics_are_names_or_ids_and_include_those_of_the_session() -> None:
    """What a session remembers is a name up to version 12, an id after it."""
    by_name = Dissection(
        make_exchange(FetchRequest(topics=[FetchTopic("a")]), FetchResponse(), version=12)
    )
    by_name.session_topics = [("b", 0)]
    assert (by_name.topics, by_name.topic_ids) == (frozenset({"a", "b"}), frozenset())
    topic = FetchTopic(topic_id=bytes(15) + b"\x02")
    by_id = Dissection(make_exchange(FetchRequest(topics=[topic]), FetchResponse(), version=13))
    by_id.session_topics = [("AAAAAAAAAAAAAAAAAAAAAw", 0)]
    assert by_id.topic_ids == {"AAAAAAAAAAAAAAAAAAAAAg", "AAAAAAAAAAAAAAAAAAAAAw"}
    assert by_id.topics == set()
