from kdiag.wire.records.checksum import crc32c


def test_the_checksum_of_nine_digits_is_the_published_one() -> None:
    """CRC-32C of `123456789` is e3069283, and of nothing 0."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(memoryview(b"x123456789")[1:]) == 0xE3069283
    assert crc32c(b"") == 0
