import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import DecodeError
from kdiag.net.tls.der import OCTET_STRING, OID, SEQUENCE, oid_text, read_der
from tiers.cases import for_each


def test_an_element_has_tag_body_and_place() -> None:
    """The body of an integer is what stands behind its tag and its length."""
    assert read_der(bytes.fromhex("02010a ff"))._asdict() == {
        "tag": 0x02,
        "body": b"\x0a",
        "offset": 2,
        "raw": bytes.fromhex("02010a"),
    }


def test_a_long_length_is_read() -> None:
    """Bodies of 128 bytes and more have a length of several bytes."""
    body = bytes(300)

    element = read_der(bytes.fromhex("0482012c") + body)

    assert (element.body, element.offset) == (body, 4)


def test_children_are_found_by_their_tag_and_know_their_place() -> None:
    """Offsets count from the start of all that was read, however deep an element lies."""
    sequence = read_der(bytes.fromhex("3006 0201aa 0401bb"))

    assert [child.offset for child in sequence.children()] == [4, 7]
    assert sequence.child(OCTET_STRING, "field").body == b"\xbb"
    with pytest.raises(DecodeError, match="field at byte 2: no element with tag 0x30 is there"):
        sequence.child(SEQUENCE, "field")


@pytest.mark.parametrize(
    ("data", "text"),
    [("0603550403", "2.5.4.3"), ("06092a864886f70d01010b", "1.2.840.113549.1.1.11")],
)
def test_an_object_identifier_is_written_with_dots(data: str, text: str) -> None:
    """The first two numbers share a byte, and large numbers take several."""
    assert oid_text(read_der(bytes.fromhex(data))) == text


@for_each(
    ("data", "why"),
    [
        ("", "needs 2 bytes, 0 are left"),
        ("30", "needs 2 bytes, 1 are left"),
        ("300501", "states 5 bytes, 1 are left"),
        ("3080", "a length of 0 bytes"),
        ("30850000000001ff", "a length of 5 bytes"),
        ("308201", "a length of 2 bytes"),
        ("3f0100", "several bytes"),
    ],
)
def test_what_is_not_whole_is_refused(data: str, why: str) -> None:
    """A length is checked against the bytes that are there."""
    with pytest.raises(DecodeError, match=why):
        read_der(bytes.fromhex(data))


@pytest.mark.parametrize("data", ["0600", "060185", "06028585"])
def test_an_object_identifier_that_breaks_off_is_refused(data: str) -> None:
    """A number ends at a byte without the high bit."""
    with pytest.raises(DecodeError):
        oid_text(read_der(bytes.fromhex(data)))


@given(st.binary(max_size=64))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Nothing but a DecodeError can come of bytes that are no DER."""
    try:
        element = read_der(data)
        for child in element.children():
            if child.tag == OID:
                oid_text(child)
    except DecodeError:
        return
    assert data.startswith(element.raw)
