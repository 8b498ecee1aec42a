"""The dispatch of requests: from a frame to its handler, and from the response to a frame.

    bytes      header       api key, version, correlation id, client id
               known?       a handler, and a version that the node speaks
               body         the request; its handler answers now or later
    response   header, body in parts: records in files are not read

What a node does not speak is answered by UNSUPPORTED_VERSION where the response has a place for an
error of the whole, and by closing the connection where it has none, as Kafka does; one line in the
log says which request it was. So is what cannot be read. Nothing is left without an end.

Requests of other nodes of the lab may have any version that there is a handler for, and are not
counted among those of clients.

Source: Kafka's `KafkaApis.handle`, `RequestContext.parseRequest`.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from kdiag.errors import DecodeError, EncodeError
from kdiag.lab.api.call import ApiCall, NodeServices
from kdiag.lab.api.cluster import api_versions
from kdiag.lab.api.cluster.api_versions import told_versions
from kdiag.lab.api.registry import HANDLERS
from kdiag.lab.fault.fault_gate import Arrival, FaultGate
from kdiag.lab.security.listener import INTERNAL
from kdiag.net.channel import Disconnection
from kdiag.net.server.processor import Processor, ServerRequest
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import decode_prefix, encode, encode_parts
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.header import RequestHeader, read_request_header, response_header_bytes
from kdiag.wire.schema import Struct, fields_of

if TYPE_CHECKING:
    from kdiag.net.server.file_send import FramePart

LOG: Final = logging.getLogger(__name__)

_UNSUPPORTED: Final = CODE_BY_NAME["UNSUPPORTED_VERSION"]

OnRequest = Callable[[str, Api, RequestHeader], None]
"""Hears of each request that a handler gets: the client, the API, the header."""


class RequestDispatch:
    """Hands the requests of a node to their handlers.

    Attributes:
        node: what handlers use.
        request_count: how many requests there have been.
    """

    def __init__(
        self,
        node: NodeServices,
        advance: Callable[[], int | None],
        on_request: OnRequest | None,
        faults: FaultGate | None = None,
    ) -> None:
        """Begin without a processor; `processor` has to be set before the first request.

        Args:
            node: what handlers use.
            advance: does what is due, and returns when something is due next.
            on_request: hears of each request.
            faults: the gate of requests and answers, if something may go wrong.
        """
        self.node = node
        spoken = {key: handler.versions for key, handler in HANDLERS.items()}
        self._nodes = {"": node, INTERNAL: node._replace(listener=INTERNAL, versions=spoken)}
        self.request_count = 0
        self.processor: Processor | None = None
        self._advance = advance
        self._on_request = on_request
        self._faults = faults

    def __repr__(self) -> str:
        return f"<RequestDispatch of broker {self.node.node_id}: {self.request_count} requests>"

    def handle(self, request: ServerRequest) -> None:
        """Answer a request, now or later."""
        is_internal = request.listener == INTERNAL
        self.request_count += not is_internal
        frame = request.receive.payload
        try:
            header = read_request_header(frame)
        except DecodeError as error:
            self._refuse(request, f"a request that cannot be read: {error}")
            return
        api = API_BY_KEY.get(header.api_key)
        node = self._node_at(request.listener)
        versions = node.versions.get(header.api_key)
        if api is None or versions is None or not versions.covers(header.version):
            self._refuse_version(request, api, header)
            return
        try:
            # As in Kafka, bytes behind the request are passed over: librdkafka sends some.
            message, _ = decode_prefix(
                api.request_class(), header.version, frame, header.body_offset, views=True
            )
        except DecodeError as error:
            self._refuse(request, f"{api.name} {header.version} cannot be read: {error}")
            return
        if self._on_request is not None and not is_internal:
            self._on_request(request.peer, api, header)
        call = self._call(request.channel_id, request.peer, api, header, request.listener)
        if self._faults is None or is_internal:
            _answer(api, message, call)
            return
        self._faults.handle(
            Arrival(request.channel_id, api, header, message, call.respond),
            lambda respond: _answer(api, message, call._replace(respond=respond)),
        )

    def answer_versions(
        self, channel_id: str, peer: str, frame: bytes, header: RequestHeader
    ) -> bytes:
        """Return the response to ApiVersions on a connection that is still authenticating.

        Raises:
            DecodeError: if the request cannot be read.
        """
        api = API_BY_KEY[api_keys.API_VERSIONS]
        call = self._call(channel_id, peer, api, header)
        if self.node.versions[api.key].covers(header.version):
            message, _ = decode_prefix(
                ApiVersionsRequest, header.version, frame, header.body_offset
            )
            answer, version = api_versions.handle(message, call), header.version
            if self._faults is not None:
                arrival = Arrival(channel_id, api, header, message, call.respond)
                self._faults.edit_versions(arrival, answer)
        else:
            answer, version = _unknown_api_versions(call), 0
        return response_header_bytes(api, version, header.correlation_id) + encode(answer, version)

    def handle_disconnect(self, channel_id: str, ended: Disconnection) -> None:
        """Say why a connection ended, if something was wrong."""
        if self._faults is not None:
            self._faults.forget(channel_id)
        if ended.error is not None and not isinstance(ended.error, OSError):
            LOG.warning("connection %s of %s ended: %s", channel_id, ended.peer, ended.error)

    def advance(self) -> int | None:
        """Do what is due, and return when something is due next."""
        return self._advance()

    def _call(
        self, channel_id: str, peer: str, api: Api, header: RequestHeader, listener: str = ""
    ) -> ApiCall:
        return ApiCall(
            node=self._node_at(listener),
            version=header.version,
            client_id=header.client_id,
            peer=peer,
            respond=partial(self._respond, channel_id, api, header),
            hang_up=partial(self._the_processor.end, channel_id),
            set_client_software=partial(
                self._the_processor.selector.set_client_software, channel_id
            ),
        )

    def _node_at(self, listener: str) -> NodeServices:
        """Return the node as those see it who came by a listener."""
        node = self._nodes.get(listener)
        if node is None:
            node = self._nodes[listener] = self.node._replace(listener=listener)
        return node

    @property
    def _the_processor(self) -> Processor:
        assert self.processor is not None
        return self.processor

    def _respond(
        self, channel_id: str, api: Api, header: RequestHeader, response: Struct | None
    ) -> None:
        """Send a response; one that cannot be written ends the connection."""
        if response is None:
            self._the_processor.respond(channel_id, None)
            return
        try:
            body = encode_parts(response, header.version)
        except EncodeError:
            LOG.exception("the response to %s %d cannot be written", api.name, header.version)
            self._the_processor.end(channel_id)
            return
        head = response_header_bytes(api, header.version, header.correlation_id)
        parts: list[FramePart] = [head, *body]
        self._the_processor.respond(channel_id, parts)

    def _refuse(self, request: ServerRequest, why: str) -> None:
        LOG.warning("%s sent %s", request.peer, why)
        self._the_processor.end(request.channel_id)

    def _refuse_version(
        self, request: ServerRequest, api: Api | None, header: RequestHeader
    ) -> None:
        """Answer UNSUPPORTED_VERSION if that can be said, else close the connection."""
        name = f"the API key {header.api_key}" if api is None else api.name
        why = f"version {header.version} of {name}, which this node does not speak"
        if api is not None and api.key == api_keys.API_VERSIONS:
            LOG.info("%s sent %s", request.peer, why)
            call = self._call(request.channel_id, request.peer, api, header)
            answer = _unknown_api_versions(call)
            self._respond(request.channel_id, api, header._replace(version=0), answer)
            return
        response = None if api is None else _unsupported(api, header.version)
        if api is None or response is None:
            self._refuse(request, why)
            return
        LOG.warning("%s sent %s", request.peer, why)
        self._respond(request.channel_id, api, header, response)


def _answer(api: Api, message: Struct, call: ApiCall) -> None:
    """Have a request handled, which is answered now or later."""
    response = HANDLERS[api.key].handle(message, call)
    if response is not None:
        call.respond(response)


def _unknown_api_versions(call: ApiCall) -> ApiVersionsResponse:
    """Return the response, in version 0, to ApiVersions in a version that is not spoken."""
    return ApiVersionsResponse(error_code=_UNSUPPORTED, api_keys=told_versions(call))


def _unsupported(api: Api, version: int) -> Struct | None:
    """Return a response that says UNSUPPORTED_VERSION; None if there is none that can."""
    if not api.versions.covers(version):
        return None
    response_class = api.response_class()
    field = next((each for each in fields_of(response_class) if each.name == "error_code"), None)
    if field is None or not field.is_in(version):
        return None
    response = response_class()
    response.error_code = _UNSUPPORTED  # type: ignore[attr-defined]
    return response
