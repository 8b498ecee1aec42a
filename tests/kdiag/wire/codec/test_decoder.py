from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.codec.decoder import DecoderSource


def test_fixed_fields_and_the_length_that_follows_are_one_unpack() -> None:
    """Heartbeat v0 reads its generation together with the member id's length."""
    text = DecoderSource(HeartbeatRequest, 0, errors="strict").text

    assert text.startswith("def decode(d, p, end):")
    assert text.count("(d, p)") == 2


def test_integer_arrays_are_one_unpack() -> None:
    """Three replica lists take three calls and no loop of their own."""
    text = DecoderSource(MetadataResponse, 12, errors="strict").text

    assert text.count("= list(") == 3
    assert text.count("for _ in range") == 3
