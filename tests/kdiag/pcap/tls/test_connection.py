import random
import re
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import TLS_CAPTURES
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tls.connection import Plaintext, TlsConnection
from kdiag.pcap.tls.facts import Alert
from kdiag.pcap.tls.keylog import KeyLog
from recordings.tls_capture import Stretch, connections, feed_all, joined
from secure_ends.tls_pair import HOST, NO_ENCRYPT_THEN_MAC, Talk, make_peers
from secure_ends.tls_server import tls_server
from tiers.cases import for_each

HERE = TLS_CAPTURES
SAID = [
    Stretch(is_client=True, data=b"question"),
    Stretch(is_client=False, data=b"a" * 40_000),
    Stretch(is_client=True, data=b"thanks"),
]
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda version: version.name)
def talk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Talk:
    """Return a talk in each version."""
    return make_peers(tmp_path_factory.mktemp("talk"), version=request.param).talk(SAID)


def decrypted(talk: Talk) -> tuple[TlsConnection, list[Plaintext]]:
    """Return a connection that has heard a talk, and what it understood."""
    connection = TlsConnection(KeyLog.parse(talk.keylog))
    return connection, feed_all(connection, talk.wire)


def is_what_was_said(plaintexts: list[Plaintext], said: list[Stretch] = SAID) -> bool:
    """Return whether both directions are complete."""
    return all(
        joined(plaintexts, is_client=is_client) == joined(said, is_client=is_client)
        for is_client in (True, False)
    )


def count_frames(stream: bytes) -> int:
    """Return how many Kafka frames a stream holds, which ends with the last one."""
    position = count = 0
    while position < len(stream):
        position += 4 + int.from_bytes(stream[position : position + 4])
        count += 1
    assert position == len(stream)
    return count


def check_capture(path: Path, keylog: KeyLog) -> None:
    """Check that each connection of a capture carries as many requests as responses."""
    found = connections(path)
    assert len(found) >= 5
    for wire in found:
        connection = TlsConnection(keylog)
        plaintexts = feed_all(connection, wire)
        requests, responses = (
            count_frames(joined(plaintexts, is_client=is_client)) for is_client in (True, False)
        )

        assert requests >= 2
        assert requests - responses in (0, 1)  # the last one may close before it is answered
        assert connection.facts.unopened_records == 0
        assert connection.facts.sni == "localhost"
        assert connection.facts.notes == []


@pytest.mark.parametrize("name", ["tls12_aiokafka", "tls13_kafkapython"])
def test_real_captures_decrypt_to_kafka_frames(name: str) -> None:
    """With its key log, every byte of a connection is part of a frame, in both directions."""
    check_capture(HERE / f"{name}.pcap", KeyLog.parse((HERE / f"{name}.keylog").read_bytes()))


@pytest.mark.parametrize("name", ["tls13_franz", "mtls_kafkapython", "sasl_ssl_scram_aiokafka"])
def test_captures_of_other_clients_decrypt_too(reference: Path, name: str) -> None:
    """Go's TLS, certificates of clients and SASL inside TLS make no difference."""
    folder = reference / "captures"
    check_capture(folder / f"{name}.pcap", KeyLog.parse((folder / f"{name}.keylog").read_bytes()))


def test_the_secrets_inside_a_pcapng_file_are_a_key_log(reference: Path) -> None:
    """A Decryption Secrets Block needs no file beside the capture."""
    path = reference / "captures" / "tls12_aiokafka_dsb.pcapng"
    reader = CaptureReader([path])
    list(reader.read_segments())
    keylog = KeyLog()
    for secrets in reader.secrets:
        keylog.add(secrets.data)

    check_capture(path, keylog)


def test_without_keys_the_handshake_still_tells_much(reference: Path) -> None:
    """Version, cipher suite and the number of records are in the clear."""
    for wire in connections(reference / "captures" / "tls13_java_no_keylog.pcap"):
        connection = TlsConnection()

        assert feed_all(connection, wire) == []
        assert connection.facts.version == "TLS 1.3"
        assert connection.facts.cipher_suite == "TLS_AES_256_GCM_SHA384"
        assert connection.facts.unopened_records == connection.facts.application_records == 17
        assert connection.facts.notes == ["no key log was given: what was encrypted stays so"]


def test_a_client_that_does_not_speak_tls_is_told_from_a_server_that_does(
    reference: Path,
) -> None:
    """A plaintext client on a TLS port is answered by an alert."""
    found = connections(reference / "captures" / "plaintext_to_tls_port_confluent.pcap")
    assert len(found) == 59
    for wire in found:
        connection = TlsConnection()

        assert feed_all(connection, wire) == []
        assert connection.facts.client_speaks_tls is False
        assert connection.facts.server_speaks_tls is True
        assert connection.facts.alerts == [
            Alert(is_client=False, level="fatal", name="internal_error")
        ]
        assert connection.facts.notes == ["the client does not speak TLS"]


@pytest.mark.thorough
@for_each(
    "suite",
    [
        "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES256-GCM-SHA384",
        "ECDHE-RSA-CHACHA20-POLY1305",
        "AES128-GCM-SHA256",
        "AES256-CCM",
        "ECDHE-ECDSA-AES128-CCM8",
        "AES128-SHA",
        "AES256-SHA256",
        "ECDHE-RSA-AES256-SHA384",
    ],
)
@for_each("options", [0, NO_ENCRYPT_THEN_MAC])
def test_suites_of_tls_1_2_decrypt(tmp_path: Path, suite: str, options: int) -> None:
    """GCM, CCM, ChaCha20 and CBC, the latter with its MAC inside or outside."""
    peers = make_peers(tmp_path, version=VERSIONS[0], ciphers=f"{suite}:@SECLEVEL=0")
    peers.client.options |= options

    connection, plaintexts = decrypted(peers.talk(SAID))

    assert is_what_was_said(plaintexts)
    assert connection.facts.version == "TLS 1.2"
    assert connection.facts.notes == []


@pytest.mark.thorough
@pytest.mark.parametrize("version", VERSIONS)
def test_a_resumed_session_decrypts(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """The shorter handshake of a session that is taken up again is understood and told."""
    peers = make_peers(tmp_path, version=version)
    session = peers.talk(SAID).session

    connection, plaintexts = decrypted(peers.talk(SAID, session))

    assert is_what_was_said(plaintexts)
    assert connection.facts.is_resumed is True


@pytest.mark.parametrize("version", VERSIONS)
def test_a_client_with_a_certificate_decrypts(tmp_path: Path, version: ssl.TLSVersion) -> None:
    """Its longer handshake changes nothing, and the protocol agreed on is told."""
    peers = make_peers(tmp_path, version=version)
    peers.server.verify_mode = ssl.CERT_REQUIRED
    for context in (peers.client, peers.server):
        context.set_alpn_protocols(["kafka"])

    connection, plaintexts = decrypted(peers.talk(SAID))

    assert is_what_was_said(plaintexts)
    assert connection.facts.alpn == "kafka"


def test_a_request_to_begin_again_does_not_end_the_handshake(tmp_path: Path) -> None:
    """A server that wants another curve sends HelloRetryRequest, and keys come one flight later."""
    peers = make_peers(tmp_path)
    peers.server.set_ecdh_curve("secp384r1")
    talk = peers.talk(SAID)

    connection, plaintexts = decrypted(talk)

    assert [is_client for is_client, _ in talk.wire[:4]] == [True, False, True, False]
    assert is_what_was_said(plaintexts)
    assert connection.facts.version == "TLS 1.3"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "suite",
    [
        "TLS_AES_128_GCM_SHA256",
        "TLS_AES_256_GCM_SHA384",
        "TLS_CHACHA20_POLY1305_SHA256",
    ],
)
def test_suites_key_updates_and_padding_of_tls_1_3_decrypt(
    tmp_path: Path, suite: str, require_programs: Callable[..., None]
) -> None:
    """Each side may change its key as often as it likes, and fill its records with zeros."""
    require_programs("openssl")
    with tls_server(tmp_path, "-ciphersuites", suite, "-record_padding", "512") as server:
        for number in range(3):
            server.say(b"line %d" % number)
            server.answer(b"answer %d" % number)
            server.update_keys()
            server.update_keys()
        server.say(b"end")
        server.answer(b"end")

    connection, plaintexts = decrypted(Talk(server.wire, server.keylog(), None))

    assert joined(plaintexts, is_client=False) == b"line 0\nline 1\nline 2\nend\n"
    assert joined(plaintexts, is_client=True) == b"answer 0answer 1answer 2end"
    assert connection.facts.cipher_suite == suite
    assert connection.facts.notes == []


@pytest.mark.thorough
def test_a_second_handshake_of_tls_1_2_decrypts(
    tmp_path: Path, require_programs: Callable[..., None]
) -> None:
    """Renegotiation is encrypted itself, and brings new keys."""
    require_programs("openssl")
    with tls_server(tmp_path, "-tls1_2") as server:
        server.say(b"before")
        server.renegotiate()
        server.say(b"after")
        server.answer(b"answer")

    connection, plaintexts = decrypted(Talk(server.wire, server.keylog(), None))

    assert server.keylog().count(b"CLIENT_RANDOM") == 2
    assert joined(plaintexts, is_client=False) == b"before\nafter\n"
    assert joined(plaintexts, is_client=True) == b"answer"
    assert connection.facts.unopened_records == 0


def test_each_plaintext_tells_the_bytes_that_its_record_came_from(talk: Talk) -> None:
    """From the place in the plaintext one gets back to the place in the stream, and to a packet."""
    _, plaintexts = decrypted(talk)

    for is_client in (True, False):
        wire = joined(talk.wire, is_client=is_client)
        own = [plaintext for plaintext in plaintexts if plaintext.is_client == is_client]
        assert len(own) == (2 if is_client else 3)
        for plaintext in own:
            assert wire[plaintext.start] == 23
            assert plaintext.end == plaintext.start + 5 + int.from_bytes(
                wire[plaintext.start + 3 : plaintext.start + 5]
            )
            assert plaintext.missing_bytes == 0


def test_facts_count_what_went_by(talk: Talk) -> None:
    """Good-byes are alerts, and the host asked for is told."""
    connection, _ = decrypted(talk)
    facts = connection.facts

    assert facts.client_speaks_tls
    assert facts.server_speaks_tls
    assert facts.keys_found
    assert facts.sni == HOST
    assert [alert.name for alert in facts.alerts] == ["close_notify", "close_notify"]
    assert facts.decrypted_records == 5
    assert facts.decrypted_bytes == 40_014
    assert facts.unopened_records == 0


@given(
    chunks=st.lists(st.tuples(st.booleans(), st.integers(1, 3000))), is_client_last=st.booleans()
)
def test_neither_chunks_nor_the_order_of_directions_change_the_plaintext(
    talk: Talk, chunks: list[tuple[bool, int]], *, is_client_last: bool
) -> None:
    """Bytes may come in any pieces, and all of one side before those of the other."""
    streams = [bytearray(joined(talk.wire, is_client=is_client)) for is_client in (False, True)]
    connection = TlsConnection(KeyLog.parse(talk.keylog))
    plaintexts = []
    for is_client, size in [*chunks, (not is_client_last, 60_000), (is_client_last, 60_000)]:
        plaintexts += connection.feed(bytes(streams[is_client][:size]), is_client=is_client)
        del streams[is_client][:size]

    assert is_what_was_said(plaintexts)
    assert connection.facts.notes == []


def test_a_client_hello_may_come_in_many_records(talk: Talk) -> None:
    """A handshake message is joined from as many records as it takes."""
    first, *others = talk.wire
    body = first.data[5:]
    pieces = [body[at : at + 7] for at in range(0, len(body), 7)]
    data = b"".join(first.data[:3] + len(piece).to_bytes(2) + piece for piece in pieces)

    _, plaintexts = decrypted(talk._replace(wire=[Stretch(is_client=True, data=data), *others]))

    assert is_what_was_said(plaintexts)


@pytest.mark.thorough
@given(seed=st.integers(0, 1 << 32))
def test_damaged_bytes_never_raise_and_never_give_a_wrong_plaintext(talk: Talk, seed: int) -> None:
    """Flipped, cut out, doubled or lost bytes cost records; what does come out was said."""
    whole = {plaintext.data for plaintext in decrypted(talk)[1]}
    chance = random.Random(seed)
    connection = TlsConnection(KeyLog.parse(talk.keylog))
    for is_client, sent in talk.wire:
        part = bytearray(sent)
        for _ in range(chance.randrange(3)):
            at = chance.randrange(len(part))
            part[at] ^= 1 << chance.randrange(8)
        deed = chance.randrange(8)
        if deed == 0:
            del part[chance.randrange(len(part)) :]
        elif deed == 1:
            part *= 2
        elif deed == 2:
            connection.gap(chance.randrange(3000), is_client=is_client)
        for plaintext in connection.feed(bytes(part), is_client=is_client):
            assert plaintext.data in whole


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=200)), max_size=10))
def test_random_bytes_never_raise(parts: list[tuple[bool, bytes]]) -> None:
    """Bytes of no protocol at all give no plaintext."""
    connection = TlsConnection(KeyLog())

    assert feed_all(connection, [Stretch(*part) for part in parts]) == []


@given(st.lists(st.tuples(st.booleans(), st.integers(20, 24), st.binary(max_size=90)), max_size=12))
def test_records_with_random_content_never_raise(parts: list[tuple[bool, int, bytes]]) -> None:
    """Nor do well-formed records that carry nonsense, before or after real hellos."""
    connection = TlsConnection(KeyLog())
    wire = [
        Stretch(is_client, bytes([kind, 3, 3]) + len(body).to_bytes(2) + body)
        for is_client, kind, body in parts
    ]

    assert feed_all(connection, wire) == []


def test_a_connection_older_than_its_capture_says_so(talk: Talk) -> None:
    """Without the hellos no key can be found, but records are counted, from inside a record on."""
    connection = TlsConnection(KeyLog.parse(talk.keylog))
    for is_client in (True, False):
        first = next(each for each in decrypted(talk)[1] if each.is_client == is_client)
        connection.gap(0, is_client=is_client)
        connection.feed(
            joined(talk.wire, is_client=is_client)[first.start + 3 :], is_client=is_client
        )

    assert connection.facts.client_speaks_tls
    assert connection.facts.server_speaks_tls
    assert connection.facts.application_records - connection.facts.unopened_records == 0
    assert connection.facts.version is None
    assert connection.facts.notes == [
        f"the handshake was not captured from its start: no {side} hello"
        for side in ("client", "server")
    ]


def test_wrong_secrets_say_which_record_does_not_fit(talk: Talk) -> None:
    """A key log that lies costs some trials and gives nothing."""
    keylog = re.sub(  # the first digit becomes another one
        rb" ([0-9a-f])([0-9a-f]+)\n",
        lambda found: b" %x%s\n" % (15 - int(found[1], 16), found[2]),
        talk.keylog,
    )
    connection = TlsConnection(KeyLog.parse(keylog))

    assert feed_all(connection, talk.wire) == []
    assert connection.facts.keys_found
    assert connection.facts.unopened_records == connection.facts.application_records
    assert any("fails authentication" in note for note in connection.facts.notes)


def test_records_that_never_fit_behind_gaps_are_given_up(talk: Talk) -> None:
    """Trials end, and the note blames the loss, not the records."""
    connection, _ = decrypted(talk)

    for _ in range(10):
        connection.gap(1 << 20, is_client=True)
        assert connection.feed(b"\x17\3\3\0\x64" + bytes(100), is_client=True) == []

    assert connection.facts.notes == [
        "since a loss, no record of the client can be opened any more"
    ]
    assert connection.facts.unopened_records == 10
