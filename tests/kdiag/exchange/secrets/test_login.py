from collections.abc import Iterable
from io import BytesIO

import pytest

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.byte_view import view_side
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.model import Connection, Exchange, LoginPhase, Status
from kdiag.exchange.secrets.masking import mask_secrets
from kdiag.pcap.decoder import decode_capture
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from made_values.damaged_logins import (
    PASSWORD,
    PLAIN,
    SentFrames,
    conversation,
    damaged_plain,
    forms_of,
    login,
)
from recordings.exchange_maker import capture_of, request_bytes, response_bytes
from tiers.cases import for_each

METADATA = (3, 1, "app", Status.OK)


def decoded(frames: SentFrames) -> tuple[list[Exchange], Connection]:
    """Return what a capture of some frames has."""
    items = list(decode_capture([BytesIO(capture_of(frames))]))
    exchanges = [each for each in items if isinstance(each, Exchange)]
    [connection] = [each for each in items if isinstance(each, Connection)]
    return sorted(exchanges, key=lambda each: each.number), connection


def printed(exchanges: Iterable[Exchange], connection: Connection) -> bytes:
    """Return all that programs and people are shown of exchanges."""
    documents = Documents(TopicNames(), BodyForm(values=True))
    encoder = DocumentEncoder()
    texts = [encoder.encode(documents.connection(connection))]
    for exchange in exchanges:
        dissection = Dissection(exchange)
        texts.append(encoder.encode(documents.exchange(dissection)))
        texts.append(repr(documents.csv_values(dissection)).encode())
        for is_response, side in enumerate((dissection.request, dissection.response)):
            if side is not None:
                spans = view_side(dissection, side, is_response=bool(is_response))
                texts.append(repr([each.value for each in spans]).encode())
    return b"\n".join(texts)


def shown(exchanges: Iterable[Exchange]) -> list[tuple[int | None, int | None, str | None, Status]]:
    """Return API key, version, client id and status of exchanges."""
    return [
        (each.api_key, each.version, each.client_id, Dissection(each).status) for each in exchanges
    ]


def bytes_of(exchanges: Iterable[Exchange]) -> bytes:
    """Return the frames of exchanges, as captures are written."""
    masked = [mask_secrets(each) for each in exchanges]
    frames = [frame for each in masked for frame in (each.request, each.response) if frame]
    return b"\n".join(frame.data for frame in frames)


@pytest.mark.thorough
@for_each("is_answered", [True, False])
@for_each("handshake", [0, 1])
@for_each("frame", list(damaged_plain()), ids=lambda each: each.name)
def test_a_damaged_login_shows_its_size_alone(
    frame: tuple[str, bytes],
    handshake: int,
    is_answered: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """Whatever it reads as, in all that is printed and in captures that are passed on."""
    data = frame[1]
    frames = conversation(data, handshake=handshake, is_answered=is_answered)
    exchanges, connection = decoded(frames)

    assert forms_of(PASSWORD).search(printed(exchanges, connection)) is None
    assert PASSWORD not in bytes_of(exchanges)
    assert PASSWORD.decode() not in f"{connection.sasl_user} {connection.client_software}"
    [hidden] = [each for each in exchanges if each.request and each.request.data == data]
    assert (hidden.api_key, hidden.client_id, hidden.pairing) == (None, None, Status.OPAQUE)
    why = Dissection(hidden).sides[0].why
    assert why is not None
    assert f"{len(data)} bytes" in why.reason
    if is_answered:
        assert shown(exchanges)[-1] == METADATA


@for_each("version", [0, 1, 2])
def test_an_intact_login_is_read_with_its_token_redacted(version: int) -> None:
    """And nothing else of it; what follows is left as it is."""
    exchanges, connection = decoded(conversation(login(version), version=version))

    assert shown(exchanges) == [
        (18, 0, "app", Status.OK),
        (17, 1, "app", Status.OK),
        (36, version, "app", Status.OK),
        METADATA,
    ]
    assert connection.sasl_user == "alice"
    assert forms_of(PASSWORD).search(printed(exchanges, connection)) is None
    masked = mask_secrets(exchanges[2])
    assert masked.request is not None
    assert masked.request.data == login(version).replace(PLAIN, b"x" * len(PLAIN))
    assert all(mask_secrets(each) is each for each in (exchanges[0], exchanges[1], exchanges[3]))


@pytest.mark.thorough
@for_each("frame", [each.data for each in damaged_plain()])
def test_a_damaged_frame_shows_no_fields_where_the_handshake_is_not_captured(frame: bytes) -> None:
    """It may be a login: the capture begins late."""
    # A frame that parses to its last byte is taken for what it says, but for a client's name.
    exchanges, connection = decoded(conversation(frame, handshake=None)[2:])
    shows_swallowed = frame[:4] == b"\0\x12\0\0"
    if not shows_swallowed and b"\x01\x07" not in frame:
        assert PASSWORD not in printed(exchanges, connection)
    assert all(each.client_id in {None, "app"} or shows_swallowed for each in exchanges)


def scram(*tokens: bytes) -> SentFrames:
    """Return the frames of a login by SCRAM, each token of the client with an answer."""
    frames: SentFrames = conversation(b"")[:2]
    asked = SaslHandshakeRequest(mechanism="SCRAM-SHA-256")
    frames += [
        (False, request_bytes(asked, 1, correlation_id=2)),
        (True, response_bytes(SaslHandshakeResponse(), 1, correlation_id=2)),
    ]
    for number, (token, answer) in enumerate(zip(tokens[::2], tokens[1::2], strict=True), 3):
        request = SaslAuthenticateRequest(auth_bytes=token)
        response = SaslAuthenticateResponse(auth_bytes=answer)
        frames.append((False, request_bytes(request, 2, correlation_id=number)))
        frames.append((True, response_bytes(response, 2, correlation_id=number)))
    return frames


ROUNDS = (b"n,,n=alice,r=abc", b"r=abcdef,s=c2FsdA==,i=4096", b"c=biws,r=abcdef,p=" + PASSWORD)


def test_the_first_round_of_scram_is_no_login() -> None:
    """The proof is in the next frame, and may be damaged."""
    frames = scram(*ROUNDS, b"v=server")
    data = frames[-2][1]
    frames[-2] = (False, b"\0\3" + data[2:])
    exchanges, connection = decoded(frames)

    assert [each.pairing for each in exchanges[-2:]] == [Status.OK, Status.OPAQUE]
    assert forms_of(PASSWORD).search(printed(exchanges, connection)) is None


def test_a_login_that_has_succeeded_leaves_what_follows() -> None:
    """Also what was not answered, and what wants no answer."""
    frames = scram(*ROUNDS, b"v=server")
    frames.append((False, request_bytes(ProduceRequest(acks=0), 3, correlation_id=8)))
    frames.append((False, request_bytes(MetadataRequest(), 1, correlation_id=9)))
    exchanges, _ = decoded(frames)

    assert [each[:2] for each in shown(exchanges)[-2:]] == [(0, 3), (3, 1)]
    assert all(mask_secrets(each) is each for each in exchanges[-2:])


@for_each("error", [b"e=invalid-proof", b'{"status":"invalid_token"}'])
def test_a_broker_that_reports_an_error_in_a_token_has_not_accepted_it(error: bytes) -> None:
    """The client may send another token."""
    frames = scram(*ROUNDS, error)
    frames.append((False, b"\0\3\0\1\0\0\0\5\0\3app" + PASSWORD))
    exchanges, connection = decoded(frames)

    assert exchanges[-1].pairing is Status.OPAQUE
    assert PASSWORD not in printed(exchanges, connection)


def test_an_answer_to_another_request_shows_that_the_login_has_succeeded() -> None:
    """The capture may lack the answer to the login."""
    frames = conversation(login(), is_answered=False)
    frames.append((False, request_bytes(MetadataRequest(), 1, correlation_id=5)))
    exchanges, _ = decoded(frames)

    assert shown(exchanges)[-2] == METADATA
    assert exchanges[-1].api_key == 3


def test_a_client_that_logs_in_again_may_send_a_damaged_login() -> None:
    """KIP-368: on a connection that was in use."""
    frames = conversation(login())
    asked = SaslHandshakeRequest(mechanism="PLAIN")
    frames += [
        (False, request_bytes(asked, 1, correlation_id=5)),
        (True, response_bytes(SaslHandshakeResponse(), 1, correlation_id=5)),
        (False, b"\0\3\0\1" + login()[4:]),
    ]
    exchanges, connection = decoded(frames)

    assert [each.api_key for each in exchanges] == [18, 17, 36, 3, 17, None]
    assert forms_of(PASSWORD).search(printed(exchanges, connection)) is None


def test_a_broker_that_does_not_know_a_version_is_read_during_a_login() -> None:
    """KIP-511: it answers in version 0."""
    frames: SentFrames = [
        (False, request_bytes(SaslHandshakeRequest(mechanism="PLAIN"), 1, correlation_id=1)),
        (True, response_bytes(SaslHandshakeResponse(), 1, correlation_id=1)),
        (
            False,
            request_bytes(
                ApiVersionsRequest(client_software_name="x", client_software_version="1.0"),
                4,
                correlation_id=2,
            ),
        ),
        (True, response_bytes(ApiVersionsResponse(error_code=35), 0, correlation_id=2)),
    ]
    exchanges, _ = decoded(frames)

    assert [each.api_key for each in exchanges] == [17, 18]


def test_a_damaged_frame_of_a_client_without_login_is_read_as_far_as_it_goes() -> None:
    """Its client id is shown only if other frames have it."""
    metadata = MetadataRequest(topics=[])
    frames: SentFrames = [
        (False, request_bytes(metadata, 1, correlation_id=1)),
        (True, response_bytes(MetadataResponse(), 1, correlation_id=1)),
        (False, request_bytes(metadata, 1, correlation_id=2) + b"more"),
        (True, response_bytes(MetadataResponse(), 1, correlation_id=2)),
        (False, request_bytes(metadata, 1, correlation_id=3, client_id="other") + b"more"),
        (True, response_bytes(MetadataResponse(), 1, correlation_id=3)),
    ]
    exchanges, _ = decoded(frames)

    statuses = [Status.OK] * 3
    expected = zip(["app", "app", None], statuses, strict=True)
    assert [each[2:] for each in shown(exchanges)] == list(expected)
    assert [each.login for each in exchanges] == [LoginPhase.OVER] * 3
    side = Dissection(exchanges[1]).request
    assert side is not None
    assert side.note is not None
    assert side.message is not None
