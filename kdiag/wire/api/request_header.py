"""The header of every request: API, version, correlation id, client id.

Versions 0-2, flexible from 2. Today's Kafka speaks 1-2 only.
"""

from typing import Annotated

from kdiag.wire.schema import Int16, Int32, String, Struct, ignorable, message, never_compact, since


@message(versions="0-2", flexible="2+")
class RequestHeader(Struct):
    """Kafka's RequestHeader."""

    request_api_key: Int16 = 0
    request_api_version: Int16 = 0
    correlation_id: Int32 = 0
    client_id: Annotated[String | None, since("1+"), ignorable, never_compact] = ""
