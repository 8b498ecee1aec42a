"""Where in a connection a password may be: until its login has succeeded, in any frame of it.

A frame that is damaged no longer says what it is. A login whose API key, version, lengths or client
id are wrong reads as something else, and the password as a client id, a topic or a tagged field. So
what may be shown depends on the connection, not on what a frame parses as:

    UNKNOWN   nothing shows yet whether the client logs in       no fields of damaged frames
    ASKED     SaslHandshake or SaslAuthenticate was sent         nothing but what is proven
    OVER      the login has succeeded, or the client needs none  no client ids of damaged frames

While a login is under way, three kinds of exchanges are proven: ApiVersions, SaslHandshake, and
SaslAuthenticate, whose token is redacted, if both frames parse to the last byte, without fields
that Kafka does not know, and with the client id of the connection. What is hidden loses its API and
its client id, and counts as a token (`Status.OPAQUE`): no output shows more of that than its size.

The login has succeeded when the broker accepts a token that no other has to follow. Where the
capture lacks that, the first other request that parses to its last byte shows it, if its response
does, too: a broker answers none before. A client may log in again (KIP-368).

Source: KIP-43, KIP-152, KIP-368; Kafka's `SaslServerAuthenticator`, and for the names that a client
may give itself `ApiVersionsRequest`.
"""

import re
from typing import Final

from kdiag.exchange.model import Exchange, LoginPhase, Status
from kdiag.exchange.side import Side, read_request, read_response
from kdiag.wire import api_keys
from kdiag.wire.header import read_request_header
from kdiag.wire.schema import Struct, fields_of

_LOGIN: Final = frozenset({api_keys.SASL_HANDSHAKE, api_keys.SASL_AUTHENTICATE})
_BEFORE_OTHERS: Final = _LOGIN | {api_keys.API_VERSIONS}
SOFTWARE_NAME: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")
"""How a client may name itself and its version: a broker refuses others, and no token looks so."""

_MECHANISM: Final = re.compile(r"[A-Z0-9_-]{1,20}")
_FIRST_WITH_SOFTWARE: Final = 3
_LONG_ANSWER: Final = 36
"""A shorter answer to a token may read as one of another API."""

_GOES_ON: Final = (b"r=", b"e=", b"{")
"""How tokens of brokers begin that do not end a login: of SCRAM the first and an error, of
OAUTHBEARER an error (RFC 5802, RFC 7628)."""


class LoginWatch:
    """Follows the login of one connection.

    Attributes:
        sends_bare_tokens: whether the client's frames are tokens without headers now.
    """

    __slots__ = ("_client_id", "_mechanism", "_phase", "sends_bare_tokens")

    def __init__(self, *, sends_bare_tokens: bool = False) -> None:
        """Begin with the first frame of a connection."""
        self.sends_bare_tokens = sends_bare_tokens
        self._phase = LoginPhase.ASKED if sends_bare_tokens else LoginPhase.UNKNOWN
        self._client_id: str | None = None
        self._mechanism: str | None = None

    def begin(self, exchange: Exchange) -> None:
        """Note an exchange when it is its turn; its frames may still be coming."""
        if exchange.api_key in _LOGIN:
            self._phase = LoginPhase.ASKED
            is_bare = exchange.api_key == api_keys.SASL_HANDSHAKE and exchange.version == 0
            self.sends_bare_tokens = is_bare
        elif self._phase is LoginPhase.OVER and exchange.client_id != self._client_id:
            exchange.login = LoginPhase.UNKNOWN
            return
        exchange.login = self._phase

    def complete(self, exchange: Exchange) -> None:
        """Hide what may be a part of a login in an exchange whose frames are complete."""
        if exchange.login is LoginPhase.OVER or exchange.pairing is Status.OPAQUE:
            return
        request, response = read_request(exchange), read_response(exchange)
        if request is None:
            return  # a response alone: its API is not guessed while a login is under way
        if exchange.login is LoginPhase.UNKNOWN:
            self._complete_unknown(exchange, request, response)
            return
        exchange.login = LoginPhase.OVER
        if not self._is_proven(exchange, request, response):
            _hide(exchange)
        elif exchange.api_key not in _BEFORE_OTHERS or self._has_succeeded(exchange, response):
            self._phase = LoginPhase.OVER
        elif request.message is not None and exchange.api_key == api_keys.SASL_HANDSHAKE:
            self._mechanism = request.message.mechanism

    def _complete_unknown(self, exchange: Exchange, request: Side, response: Side | None) -> None:
        """Withhold a damaged request; one that is not shows the client's name.

        One with bytes behind its last field is what it says it is if a long answer is, too.
        """
        is_answered = (
            response is not None
            and response.status is Status.OK
            and response.frame.size >= _LONG_ANSWER
        )
        if request.ignored_bytes and is_answered:
            exchange.login = LoginPhase.OVER
            request = read_request(exchange) or request
        elif request.is_damaged:
            exchange.client_id = None
            if self._phase is LoginPhase.OVER:
                exchange.login = LoginPhase.OVER
            return
        if request.status is Status.OK and not _is_sane(exchange, request):
            _hide(exchange)
        else:
            exchange.login = LoginPhase.OVER
            self._client_id = exchange.client_id
            if self._phase is LoginPhase.UNKNOWN and exchange.api_key not in _BEFORE_OTHERS:
                self._phase = LoginPhase.OVER

    def _is_proven(self, exchange: Exchange, request: Side, response: Side | None) -> bool:
        """Return whether an exchange of a client that logs in is what it says it is."""
        assert exchange.request is not None
        if request.status is not Status.OK or request.ignored_bytes:
            return False
        if not self._is_known(exchange.client_id):
            return False
        if response is not None and response.status is not Status.OK:
            return False
        if exchange.api_key not in _BEFORE_OTHERS:
            return response is not None
        header = read_request_header(exchange.request.data)
        has_tags = header.header_version > 1 and exchange.request.data[header.body_offset - 1] != 0
        sides = (side.message for side in (request, response) if side is not None)
        if has_tags or any(_has_unknown_fields(each) for each in sides):
            return False
        return _is_sane(exchange, request)

    def _is_known(self, client_id: str | None) -> bool:
        """Return whether a client id is that of the connection, or could be if none was seen."""
        if self._client_id is not None:
            return client_id == self._client_id
        return client_id is None or client_id.isprintable()

    def _has_succeeded(self, exchange: Exchange, response: Side | None) -> bool:
        """Return whether the broker has accepted a token, and wants no other."""
        if exchange.api_key != api_keys.SASL_AUTHENTICATE or response is None:
            return False
        answer = response.message
        if answer.error_code:
            return False
        token = bytes(answer.auth_bytes or b"")
        # The rounds of Kerberos look alike, but the broker says nothing in the last one.
        return not token if self._mechanism == "GSSAPI" else not token.startswith(_GOES_ON)


def _hide(exchange: Exchange) -> None:
    """Take everything from an exchange that would show what its frames parse as."""
    exchange.api_key = exchange.version = exchange.client_id = None
    exchange.unanswered_reason = exchange.session_topics = None
    exchange.pairing = Status.OPAQUE


def _is_sane(exchange: Exchange, request: Side) -> bool:
    """Return whether the texts in ApiVersions and SaslHandshake are such as a broker allows."""
    message = request.message
    if exchange.api_key == api_keys.SASL_HANDSHAKE:
        return _MECHANISM.fullmatch(message.mechanism) is not None
    if exchange.api_key != api_keys.API_VERSIONS or request.version < _FIRST_WITH_SOFTWARE:
        return True
    names = message.client_software_name, message.client_software_version
    return all(SOFTWARE_NAME.fullmatch(each) for each in names)


def _has_unknown_fields(message: Struct) -> bool:
    """Return whether a message, or a struct in it, has tagged fields that Kafka does not know."""
    if message.unknown_tagged_fields:
        return True
    values = (getattr(message, field.name) for field in fields_of(type(message)))
    return any(
        _has_unknown_fields(each)
        for value in values
        for each in (value if isinstance(value, list) else (value,))
        if isinstance(each, Struct)
    )
