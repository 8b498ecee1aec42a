from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.files.pcapng import TLS_KEY_LOG, Secrets
from kdiag.pcap.tls.keylog import KeyLog
from tiers.cases import for_each

RANDOM = bytes(range(32))
MASTER = bytes(range(100, 148))


def line(label: str, random: bytes, secret: bytes) -> bytes:
    """Return one line of a key log."""
    return f"{label} {random.hex()} {secret.hex()}\n".encode()


def test_a_secret_of_tls_1_2_is_found_by_the_client_random() -> None:
    """One line tells the master secret of one connection and of no other."""
    keylog = KeyLog.parse(line("CLIENT_RANDOM", RANDOM, MASTER))

    assert keylog.master_secret(RANDOM) == MASTER
    assert keylog.master_secret(bytes(32)) is None
    assert len(keylog) == 1


def test_the_four_secrets_of_tls_1_3_are_kept_apart() -> None:
    """Handshake and application data have a secret each, in each direction."""
    labels = (
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    )
    text = b"".join(
        line(label, RANDOM, bytes([number] * 32)) for number, label in enumerate(labels)
    )

    keylog = KeyLog.parse(text)

    assert keylog.handshake_secret(RANDOM, is_client=True) == bytes([0] * 32)
    assert keylog.handshake_secret(RANDOM, is_client=False) == bytes([1] * 32)
    assert keylog.traffic_secret(RANDOM, is_client=True) == bytes([2] * 32)
    assert keylog.traffic_secret(RANDOM, is_client=False) == bytes([3] * 32)
    assert keylog.master_secret(RANDOM) is None


def test_capitals_carriage_returns_comments_and_other_labels_are_no_fault() -> None:
    """All that programs write into key logs is understood or passed over."""
    text = (
        b"# a comment\r\n\r\n"
        + line("CLIENT_RANDOM", RANDOM, MASTER).upper().replace(b"\n", b"\r\n")
        + line("EXPORTER_SECRET", RANDOM, MASTER)
    )

    keylog = KeyLog.parse(text)

    assert (len(keylog), keylog.bad_lines) == (1, 0)
    assert keylog.master_secret(RANDOM) == MASTER


@for_each(
    "bad",
    [
        b"CLIENT_RANDOM",
        b"CLIENT_RANDOM 00 11",
        line("CLIENT_RANDOM", RANDOM, MASTER)[:-20],
        line("CLIENT_RANDOM", RANDOM, MASTER[:32]),
        line("CLIENT_TRAFFIC_SECRET_0", RANDOM, bytes(65)),
        line("client_random", RANDOM, MASTER),
        b"\xff\xfe\x00",
    ],
)
def test_a_bad_line_is_counted_and_costs_no_other(bad: bytes) -> None:
    """A line that is cut off or damaged is passed over, and the next one is read."""
    keylog = KeyLog.parse(bad.rstrip() + b"\n" + line("CLIENT_RANDOM", RANDOM, MASTER))

    assert (len(keylog), keylog.bad_lines) == (1, 1)


def test_several_logs_add_up_and_the_newest_secret_counts() -> None:
    """Secrets can be added while a capture is read, as a pcapng file brings them along."""
    keylog = KeyLog.parse(line("CLIENT_RANDOM", RANDOM, bytes(48)))

    keylog.add(line("CLIENT_RANDOM", RANDOM, MASTER))
    keylog.add(line("CLIENT_RANDOM", bytes(32), bytes(48)))

    assert len(keylog) == 2
    assert keylog.master_secret(RANDOM) == MASTER


def test_secrets_beyond_the_limit_are_left_out_and_counted() -> None:
    """A key log of many years does not fill the memory; what is held can still be replaced."""
    text = b"".join(line("CLIENT_RANDOM", bytes([number] * 32), MASTER) for number in range(5))

    keylog = KeyLog.parse(text, max_secrets=3)
    keylog.add(line("CLIENT_RANDOM", bytes(32), bytes(48)))

    assert (len(keylog), keylog.left_out) == (3, 2)
    assert keylog.master_secret(bytes(32)) == bytes(48)


@given(st.binary())
def test_no_bytes_make_a_key_log_raise(data: bytes) -> None:
    """Whatever a file holds, it is a key log with few secrets or none."""
    keylog = KeyLog.parse(data)

    assert keylog.bad_lines <= data.count(b"\n") + 1


def test_secrets_that_a_capture_brings_along_are_taken_once() -> None:
    """Key logs inside pcapng files are added; secrets of other kinds are passed over."""
    line = b"CLIENT_RANDOM " + b"ab" * 32 + b" " + b"cd" * 48 + b"\n"
    secrets, keylog = [Secrets(TLS_KEY_LOG, line), Secrets(1, b"others")], KeyLog()
    keylog.add_secrets(secrets)

    assert len(keylog) == 1
    assert secrets == []
