from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.net.sasl.conversation import (
    SaslConversation,
    SaslRequest,
)
from kdiag.net.sasl.mechanism import Plain, SaslError
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeResponse
from kdiag.wire.client_release import client_release
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import read_request_header
from kdiag.wire.schema import Struct
from recordings.exchange_maker import response_bytes
from tiers.cases import for_each

TOKEN = b"\0alice\0s3cret"
NOT_COORDINATOR, UNSUPPORTED_MECHANISM, ILLEGAL_STATE, UNSUPPORTED_VERSION, REFUSED = (
    16,
    33,
    34,
    35,
    58,
)

Talk = Generator[SaslRequest, bytes, int]


def conversation(release: str = "") -> SaslConversation:
    """Return the conversation of alice, who has a password."""
    return SaslConversation(Plain("alice", "s3cret"), "kdiag-test", client_release(release))


def versions(*offered: tuple[int, int, int], error_code: int = 0) -> ApiVersionsResponse:
    """Return a broker's offer: API key, lowest and highest version of each."""
    keys = [
        ApiVersion(api_key=key, min_version=low, max_version=high) for key, low, high in offered
    ]
    return ApiVersionsResponse(error_code=error_code, api_keys=keys)


NEWEST = versions((17, 0, 1), (18, 0, 4), (36, 0, 2))


def answer(talk: Talk, request: SaslRequest, message: Struct) -> SaslRequest:
    """Answer a request as the broker and return the next one."""
    assert request.version is not None
    assert request.correlation_id is not None
    frame = response_bytes(message, request.version, correlation_id=request.correlation_id)
    return talk.send(frame)


def end(talk: Talk, request: SaslRequest, message: Struct) -> int:
    """Give the last answer and return how long the session lasts."""
    with pytest.raises(StopIteration) as ended:
        answer(talk, request, message)
    lifetime_ms: int = ended.value.value
    return lifetime_ms


def refused(talk: Talk, request: SaslRequest, message: Struct) -> str:
    """Give an answer after which the client gives up, and return why."""
    with pytest.raises(SaslError) as raised:
        answer(talk, request, message)
    return f"{raised.value.why}. {raised.value.fix}"


def test_a_client_asks_for_versions_chooses_a_mechanism_and_says_its_token() -> None:
    """The newest versions are used that both ends know, but ApiVersions is asked in version 0."""
    talk = conversation().requests()
    asked = [next(talk)]
    asked.append(answer(talk, asked[-1], NEWEST))
    asked.append(answer(talk, asked[-1], SaslHandshakeResponse(mechanisms=["PLAIN"])))
    assert [(each.api_key, each.version) for each in asked] == [(18, 0), (17, 1), (36, 2)]
    last = SaslAuthenticateResponse(session_lifetime_ms=60_000)
    assert end(talk, asked[-1], last) == 60_000
    headers = [read_request_header(each.data) for each in asked]
    assert {each.client_id for each in headers} == {"kdiag-test"}
    assert [each.correlation_id for each in headers] == [each.correlation_id for each in asked]
    said = decode(SaslAuthenticateRequest, 2, asked[-1].data, headers[-1].body_offset)
    assert said.auth_bytes == TOKEN


@for_each(("offered", "used"), [(0, 0), (1, 1), (2, 2), (9, 2)])
def test_tokens_are_said_in_the_newest_version_that_both_know(offered: int, used: int) -> None:
    """A broker may be older or newer than we are."""
    talk = conversation().requests()
    request = answer(talk, next(talk), versions((17, 0, 1), (36, 0, offered)))
    assert answer(talk, request, SaslHandshakeResponse()).version == used


@pytest.mark.parametrize("offer", [versions((17, 0, 0)), versions((17, 0, 0), (36, 0, 2))])
def test_an_old_broker_is_sent_bare_tokens(offer: ApiVersionsResponse) -> None:
    """Version 0 of SaslHandshake is followed by frames without header (KIP-43)."""
    talk = conversation().requests()
    request = answer(talk, next(talk), offer)
    assert (request.api_key, request.version) == (17, 0)
    assert answer(talk, request, SaslHandshakeResponse()) == SaslRequest(TOKEN)
    with pytest.raises(StopIteration) as ended:
        talk.send(b"")
    assert ended.value.value == 0


@pytest.mark.parametrize(
    ("release", "used"), [("0.11.0", (0, None)), ("1.0", (1, 0)), ("2.2", (1, 1))]
)
def test_who_speaks_as_old_clients_logs_in_as_they_do(
    release: str, used: tuple[int, int | None]
) -> None:
    """Clients before 1.0 know no SaslAuthenticate (KIP-152): their tokens are bare."""
    talk = conversation(release).requests()
    request = answer(talk, next(talk), NEWEST)
    handshake = request.version
    assert (handshake, answer(talk, request, SaslHandshakeResponse()).version) == used


def test_old_clients_ask_for_versions_again_in_one_that_they_know() -> None:
    """Though the broker has a newer one."""
    talk = conversation("2.4").requests()
    request = answer(talk, next(talk), versions((18, 3, 4), error_code=UNSUPPORTED_VERSION))
    assert (request.api_key, request.version) == (18, 3)


def test_a_broker_is_asked_for_its_versions_in_the_version_that_it_wants() -> None:
    """It says UNSUPPORTED_VERSION and which would do (KIP-511)."""
    talk = conversation().requests()
    no = versions((18, 3, 4), error_code=UNSUPPORTED_VERSION)
    request = answer(talk, next(talk), no)
    assert (request.api_key, request.version) == (18, 4)
    assert answer(talk, request, NEWEST).api_key == 17


@pytest.mark.parametrize(
    ("offer", "why"),
    [
        (versions(error_code=UNSUPPORTED_VERSION), "answered by UNSUPPORTED_VERSION"),
        (versions(error_code=999), r"answered by UNKNOWN\(999\)"),
        (versions((3, 0, 13)), "has no SASL"),
    ],
)
def test_a_broker_without_usable_versions_is_given_up(offer: Struct, why: str) -> None:
    """What answers so is not the broker that was meant."""
    talk = conversation().requests()
    with pytest.raises(SaslError, match=why):
        answer(talk, next(talk), offer)


def test_a_mechanism_that_is_not_enabled_is_told_with_those_that_are() -> None:
    """The user chooses one of them."""
    talk = conversation().requests()
    request = answer(talk, next(talk), NEWEST)
    enabled = ["SCRAM-SHA-512", "OAUTHBEARER"]
    no = SaslHandshakeResponse(error_code=UNSUPPORTED_MECHANISM, mechanisms=enabled)
    why = refused(talk, request, no)
    assert "PLAIN is not enabled on this listener; enabled: SCRAM-SHA-512, OAUTHBEARER" in why
    assert "sasl.mechanism" in why


def test_a_listener_without_sasl_is_recognized() -> None:
    """A PLAINTEXT listener answers ILLEGAL_SASL_STATE."""
    talk = conversation().requests()
    request = answer(talk, next(talk), NEWEST)
    why = refused(talk, request, SaslHandshakeResponse(error_code=ILLEGAL_STATE))
    assert "wants no SASL" in why
    assert "security.protocol" in why


def test_a_renewal_that_is_refused_does_not_blame_the_listener() -> None:
    """The same error then means that it came too soon."""
    talks = conversation()
    first = talks.requests()
    request = answer(first, next(first), NEWEST)
    end(first, answer(first, request, SaslHandshakeResponse()), SaslAuthenticateResponse())
    again = talks.requests()
    no = SaslHandshakeResponse(error_code=ILLEGAL_STATE)
    why = refused(again, next(again), no)
    assert "SaslHandshake was answered by ILLEGAL_SASL_STATE" in why
    assert "PLAINTEXT" not in why


def test_a_renewal_does_not_ask_for_versions_again() -> None:
    """They cannot change on one connection (KIP-368)."""
    talks = conversation()
    first = talks.requests()
    request = answer(first, next(first), NEWEST)
    end(first, answer(first, request, SaslHandshakeResponse()), SaslAuthenticateResponse())
    assert next(talks.requests()).api_key == 17


@pytest.mark.parametrize(
    ("error_code", "said", "why"),
    [
        (REFUSED, "Invalid username", "refused user 'alice' (PLAIN): Invalid username"),
        (REFUSED, None, "refused user 'alice' (PLAIN): SASL_AUTHENTICATION_FAILED"),
        (NOT_COORDINATOR, "what?", "PLAIN was answered by NOT_COORDINATOR"),
    ],
)
def test_a_refusal_repeats_what_the_broker_said(
    error_code: int, said: str | None, why: str
) -> None:
    """The password is not in it."""
    talk = conversation().requests()
    request = answer(talk, next(talk), NEWEST)
    request = answer(talk, request, SaslHandshakeResponse())
    no = SaslAuthenticateResponse(error_code=error_code, error_message=said)
    told = refused(talk, request, no)
    assert why in told
    assert "s3cret" not in told


def test_an_answer_that_cannot_be_read_is_named() -> None:
    """Which API, which version, and where reading failed."""
    talk = conversation().requests()
    next(talk)
    with pytest.raises(SaslError, match="answer to ApiVersions version 0 cannot be read"):
        talk.send(b"\0\0\0\0\0")


@given(st.lists(st.binary(max_size=30), min_size=1, max_size=3))
def test_wrong_bytes_raise_nothing_but_a_sasl_error(frames: list[bytes]) -> None:
    """Whatever answers, and however far the conversation has come."""
    for rights in range(3):
        talk = conversation().requests()
        request = next(talk)
        for message in (NEWEST, SaslHandshakeResponse())[:rights]:
            request = answer(talk, request, message)
        feed(talk, [response_bytes(NEWEST, 0)[:4] + frame for frame in frames])


def feed(talk: Talk, frames: list[bytes]) -> None:
    """Answer with frames until the conversation ends, well or by a SaslError."""
    try:
        for frame in frames:
            talk.send(frame)
    except (SaslError, StopIteration):
        return


def test_correlation_ids_stay_in_the_range_reserved_for_sasl() -> None:
    """Eight ids, used in turns: no other request has one of them."""
    talks = conversation()
    first = talks.requests()
    request = next(first)
    seen = [request.correlation_id]
    request = answer(first, request, NEWEST)
    seen.append(request.correlation_id)
    for _ in range(5):
        request = answer(first, request, SaslHandshakeResponse())
        seen.append(request.correlation_id)
        end(first, request, SaslAuthenticateResponse())
        first = talks.requests()
        request = next(first)
        seen.append(request.correlation_id)
    low, high = (1 << 31) - 8, (1 << 31) - 1
    assert seen == [*range(low, high + 1), *range(low, low + 4)]


def test_a_question_does_not_show_what_it_says() -> None:
    """It may hold a password."""
    shown: Any = repr(SaslRequest(TOKEN, 36, 2, 7))
    assert "s3cret" not in shown
