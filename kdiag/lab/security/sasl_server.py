"""SASL on a listener: the broker's end of the conversation, before a channel carries anything else.

    VERSIONS_OR_HANDSHAKE  --ApiVersions-->    HANDSHAKE
    either                 --SaslHandshake-->  TOKEN          a mechanism that is enabled
    TOKEN                  --SaslAuthenticate, or a bare frame--> TOKEN ... DONE

A client that asked for SaslHandshake in version 0 sends tokens as bare frames, and is refused by
closing the connection: there is no place for an error. Any other is told first, by
SASL_AUTHENTICATION_FAILED or UNSUPPORTED_SASL_MECHANISM. Whatever else is sent ends the connection.
Every refusal is one line in the log.

A session that ends, such as that of a bearer token, is renewed by the client on the same connection
(KIP-368): with the same mechanism and for the same user.

Source: Kafka's `SaslServerAuthenticator`; KIP-43, KIP-152, KIP-368.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto

from kdiag.clock import Clock
from kdiag.errors import AuthenticationError, DecodeError, Fault, Layer
from kdiag.lab.security.mechanisms import ProofError, SaslServer, lifetime_ms, make_server
from kdiag.lab.security.users import UserStore
from kdiag.net.receive import NetworkReceive
from kdiag.net.sasl.authenticator import MAX_SASL_FRAME_BYTES
from kdiag.net.send import NetworkSend
from kdiag.net.transport import Transport
from kdiag.wire import api_keys
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.header import RequestHeader, read_request_header, response_header_bytes
from kdiag.wire.schema import Struct, Versions

AnswerVersions = Callable[[str, str, bytes, RequestHeader], bytes]
"""Answers ApiVersions: of a channel's id, its peer, the frame, its header."""


class _LoginState(Enum):
    VERSIONS_OR_HANDSHAKE = auto()
    HANDSHAKE = auto()
    TOKEN = auto()
    DONE = auto()


class _LoginRefusedError(Exception):
    """A client is refused; the frame tells him, if there is one that can."""

    def __init__(self, why: str, frame: bytes | None = None) -> None:
        super().__init__(why)
        self.frame = frame


class SaslServerAuthenticator:
    """Has a client prove who he is.

    Attributes:
        is_complete: whether he has.
        reauthenticate_at_ns: None: it is for the client to begin again.
        user: who he is, once that is proved.
        receive: the frame that is being read.
    """

    reauthenticate_at_ns: int | None = None

    def __init__(  # noqa: PLR0913 - one caller
        self,
        channel_id: str,
        mechanisms: Sequence[str],
        users: UserStore,
        clock: Clock,
        *,
        versions: Mapping[int, Versions],
        answer_versions: AnswerVersions,
    ) -> None:
        """Wait for the client.

        Args:
            channel_id: of the channel.
            mechanisms: that are enabled.
            users: whom there is.
            clock: for sessions that end.
            versions: what the node speaks, by API key.
            answer_versions: answers ApiVersions.
        """
        self.is_complete = False
        self.user: str | None = None
        self._channel_id = channel_id
        self._mechanisms = mechanisms
        self._users = users
        self._clock = clock
        self._versions = versions
        self._answer_versions = answer_versions
        self._state = _LoginState.VERSIONS_OR_HANDSHAKE
        self._mechanism = ""
        self._server: SaslServer | None = None
        self._has_headers = False
        self._is_renewal = False
        self._send: NetworkSend | None = None
        self.receive = self._new_receive()
        self._first: bytes | None = None
        self._failure: AuthenticationError | None = None
        self._refusal: bytes | None = None

    def __repr__(self) -> str:
        return f"<SaslServerAuthenticator of {self._channel_id}: {self._state.name}>"

    @property
    def wants_write(self) -> bool:
        """Return whether it waits for the transport to accept bytes, or has a frame to answer."""
        return not self.is_complete and (self._send is not None or self._first is not None)

    def authenticate(self, transport: Transport) -> None:
        """Continue as far as the transport allows.

        Raises:
            AuthenticationError: if the client is refused.
            OSError: if the connection broke.
        """
        if self._failure is not None:
            raise self._failure
        try:
            while not self.is_complete and self._advance(transport):
                pass
        except _LoginRefusedError as error:
            self._refusal = error.frame
            fault = Fault.WRONG_CREDENTIALS if error.frame else Fault.BROKEN_PROTOCOL
            self._failure = AuthenticationError(transport.peer, Layer.SASL, str(error), fault=fault)
            raise self._failure from None

    def reauthenticate(self, receive: NetworkReceive | None = None) -> None:
        """Begin again with the client's SaslHandshake.

        Args:
            receive: its frame.
        """
        assert receive is not None
        self.is_complete = False
        self._is_renewal = True
        self._state = _LoginState.HANDSHAKE
        self._first = bytes(receive.payload)

    def poll_response(self) -> NetworkReceive | None:
        """Return None: a broker sends no requests."""
        return None

    def handle_authentication_failure(self, transport: Transport) -> None:
        """Tell the client that he is refused, as far as the transport allows.

        Raises:
            OSError: if the connection broke.
        """
        if self._refusal is not None:
            NetworkSend(self._channel_id, [self._refusal]).write_to(transport, self._clock)
            self._refusal = None

    def _new_receive(self) -> NetworkReceive:
        return NetworkReceive(self._channel_id, MAX_SASL_FRAME_BYTES)

    def _advance(self, transport: Transport) -> bool:
        """Write or read; return whether there is more to do."""
        if self._send is not None:
            self._send.write_to(transport, self._clock)
            if not self._send.is_completed:
                return False
            self._send = None
        if self._state is _LoginState.DONE:
            self.is_complete = True
            return False
        frame = self._next_frame(transport)
        if frame is None:
            return False
        answer = self._handle(frame, transport.peer)
        if answer is not None:
            self._send = NetworkSend(self._channel_id, [answer])
        return True

    def _next_frame(self, transport: Transport) -> bytes | None:
        if self._first is not None:
            frame, self._first = self._first, None
            return frame
        receive = self.receive
        while not receive.is_completed:
            if not receive.read_from(transport, self._clock):
                return None
        self.receive = self._new_receive()
        return bytes(receive.payload)

    def _handle(self, frame: bytes, peer: str) -> bytes | None:
        """Return the answer to a frame."""
        if self._state is _LoginState.TOKEN and not self._has_headers:
            return self._handle_bare_token(frame)
        try:
            header = read_request_header(frame)
            if self._state is _LoginState.TOKEN:
                return self._handle_token(frame, header)
            if header.api_key == api_keys.SASL_HANDSHAKE:
                return self._handle_handshake(frame, header)
            if header.api_key == api_keys.API_VERSIONS:
                return self._handle_versions(frame, header, peer)
        except DecodeError as error:
            raise _LoginRefusedError(f"a request cannot be read: {error}") from None
        raise _LoginRefusedError(f"{_name(header)} was sent before the client has proved who it is")

    def _handle_versions(self, frame: bytes, header: RequestHeader, peer: str) -> bytes:
        if self._state is not _LoginState.VERSIONS_OR_HANDSHAKE:
            raise _LoginRefusedError("ApiVersions was sent where SaslHandshake was expected")
        if self._covers(header):
            self._state = _LoginState.HANDSHAKE
        return self._answer_versions(self._channel_id, peer, frame, header)

    def _handle_handshake(self, frame: bytes, header: RequestHeader) -> bytes:
        self._check_version(header)
        request = decode(SaslHandshakeRequest, header.version, frame, header.body_offset)
        response = SaslHandshakeResponse(mechanisms=[*self._mechanisms])
        asked = request.mechanism
        if asked not in self._mechanisms:
            response.error_code = CODE_BY_NAME["UNSUPPORTED_SASL_MECHANISM"]
            why = f"{asked[:40]!r} is not enabled; {', '.join(self._mechanisms)} are"
            raise _LoginRefusedError(why, _answered(header, response))
        if self._is_renewal and asked != self._mechanism:
            raise _LoginRefusedError(f"the session of {self._mechanism} cannot go on with {asked}")
        self._mechanism = asked
        self._server = make_server(asked, self._users, self._clock)
        self._has_headers = header.version > 0
        self._state = _LoginState.TOKEN
        return _answered(header, response)

    def _handle_token(self, frame: bytes, header: RequestHeader) -> bytes:
        if header.api_key != api_keys.SASL_AUTHENTICATE:
            raise _LoginRefusedError(
                f"{_name(header)} was sent where SaslAuthenticate was expected"
            )
        self._check_version(header)
        request = decode(SaslAuthenticateRequest, header.version, frame, header.body_offset)
        assert self._server is not None
        try:
            token = self._evaluated(request.auth_bytes)
        except ProofError as error:
            response = SaslAuthenticateResponse(
                error_code=CODE_BY_NAME["SASL_AUTHENTICATION_FAILED"], error_message=str(error)
            )
            raise _LoginRefusedError(str(error), _answered(header, response)) from None
        response = SaslAuthenticateResponse(error_message=None, auth_bytes=token)
        if self._state is _LoginState.DONE:
            response.session_lifetime_ms = lifetime_ms(self._server, self._clock)
        return _answered(header, response)

    def _handle_bare_token(self, token: bytes) -> bytes | None:
        """Return the answer to a token without header; a mechanism may have none at the end."""
        try:
            return self._evaluated(token)
        except ProofError as error:
            raise _LoginRefusedError(str(error)) from None

    def _evaluated(self, token: bytes) -> bytes:
        """Return the mechanism's answer.

        Raises:
            ProofError: if the client has not proved who he is, or is somebody else now.
        """
        assert self._server is not None
        answer = self._server.evaluate(token)
        user = self._server.user
        if user is not None:
            if self._is_renewal and user != self.user:
                raise ProofError("Authentication failed: a session cannot be renewed by another")
            self.user = user
            self._state = _LoginState.DONE
        return answer

    def _covers(self, header: RequestHeader) -> bool:
        versions = self._versions.get(header.api_key)
        return versions is not None and versions.covers(header.version)

    def _check_version(self, header: RequestHeader) -> None:
        if not self._covers(header):
            raise _LoginRefusedError(
                f"version {header.version} of {_name(header)} is not spoken here"
            )


def _name(header: RequestHeader) -> str:
    api = API_BY_KEY.get(header.api_key)
    return f"the API key {header.api_key}" if api is None else api.name


def _answered(header: RequestHeader, response: Struct) -> bytes:
    api = API_BY_KEY[header.api_key]
    head = response_header_bytes(api, header.version, header.correlation_id)
    return head + encode(response, header.version)
