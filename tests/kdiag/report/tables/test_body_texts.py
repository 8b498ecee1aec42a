from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.side import MOST_SHARED, Side
from kdiag.report.tables.body_texts import BodyTexts, OfShared
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.schema import Struct
from recordings.exchange_maker import make_exchange


def answered(request: Struct, response: Struct) -> tuple[Dissection, Side]:
    """Return an exchange and its response."""
    dissection = Dissection(make_exchange(request, response, version=3))
    assert dissection.response is not None
    return dissection, dissection.response


def versions(count: int) -> tuple[Dissection, Side]:
    """Return an exchange that says the versions of so many APIs."""
    keys = [ApiVersion(api_key=each, max_version=each) for each in range(count)]
    return answered(ApiVersionsRequest(), ApiVersionsResponse(api_keys=keys))


def test_what_many_exchanges_share_is_written_once() -> None:
    """Other bodies are texts of their own."""
    texts = BodyTexts(TopicNames())
    one, same, other = (texts.text(*versions(count), is_response=True) for count in (60, 60, 59))
    heartbeats = [
        texts.text(*answered(HeartbeatRequest(), HeartbeatResponse()), is_response=True)
        for _ in range(2)
    ]

    assert one is same
    assert [each and each.count(b'apiKey"') for each in (one, other)] == [60, 59]
    assert heartbeats[0] == heartbeats[1]
    assert heartbeats[0] is not heartbeats[1]


def test_few_of_them_are_kept() -> None:
    """However many kinds of brokers and clients there are."""
    made = OfShared[int]()
    sides = [versions(count)[1] for count in range(1, MOST_SHARED + 10)]
    found = [made.of(each, lambda: len(made._made)) for each in sides]

    assert max(found) == MOST_SHARED - 1
    assert len(made._made) <= MOST_SHARED
