from kdiag.errors import CaptureError, DecodeError, EncodeError, ProbeError


def test_a_decode_error_says_where_and_why() -> None:
    """Field path and offset come first, then the reason; without a path, the offset alone."""
    assert str(DecodeError("topics[0]", 7, "too short")) == "topics[0] at byte 7: too short"
    assert str(DecodeError("", 7, "left over")) == "byte 7: left over"


def test_an_encode_error_says_which_field() -> None:
    """The path comes first where there is one."""
    assert str(EncodeError("key", "null")) == "key: null"
    assert str(EncodeError("", "null")) == "null"


def test_a_capture_error_says_file_offset_and_packet() -> None:
    """The file comes first; offset and last good packet where they are known."""
    assert str(CaptureError("a.pcap", "not a capture")) == "a.pcap: not a capture"
    whole = CaptureError("a.pcap", "cut", offset=120, packet=3)
    assert str(whole) == "a.pcap, byte 120 (after packet 3): cut"


def test_a_probe_error_says_what_it_is_about_and_why() -> None:
    """Both stand in its text."""
    assert str(ProbeError("topic orders", "cannot be created")) == "topic orders: cannot be created"
