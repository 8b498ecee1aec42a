"""What kdiag says an exchange is about, given its messages as plain values."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.wire.catalog import api_named
from recordings.exchange_maker import make_exchange

Values = Mapping[str, Any]


def written_line(
    api_name: str,
    version: int,
    asked: Values | None = None,
    answered: Values | None = None,
    **changes: Any,
) -> str:
    """Return what an exchange is about.

    Args:
        api_name: Kafka's name of the API.
        version: of request and response.
        asked: fields of the request, by the names of the message class; None if it was not seen.
        answered: those of the response; None if there is none.
        changes: `names`, the topic names by id, and other attributes of the exchange.
    """
    api = api_named(api_name)
    assert api is not None
    names = changes.pop("names", {})
    request = None if asked is None else msgspec.convert(asked, api.request_class())
    response = None if answered is None else msgspec.convert(answered, api.response_class())
    changes = {"api_key": api.key, **changes}
    exchange = make_exchange(request, response, version=version, **changes)
    return LineWriter(TopicNames(names)).line_of(Dissection(exchange))
