import pytest

from kdiag.pcap.kafka.request_facts import read_acks, read_client_software
from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.codec.messages import encode
from recordings.segment_tape import request


def produce(
    correlation_id: int, acks: int, version: int, transactional_id: str | None = None
) -> bytes:
    """Return a Produce request."""
    body = ProduceRequest(acks=acks, transactional_id=transactional_id)
    tags = b"\0" if version >= 9 else b""
    return request(correlation_id, tags + encode(body, version), api_key=0, version=version)


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("acks", [0, 1, -1])
def test_acks_are_read_in_every_version(version: int, acks: int) -> None:
    """They follow the transactional id, which is absent, nullable or compact."""
    names = [None] if version < 3 else [None, "", "my-transaction" * 20]

    assert [read_acks(produce(1, acks, version, name)[4:], version) for name in names] == [
        acks
    ] * len(names)


def test_acks_that_were_lost_are_unknown() -> None:
    """A cut request waits for its response like any other."""
    data = produce(1, 0, 7)
    assert [read_acks(data[4:size], 7) for size in (10, 20, 23)] == [None, None, None]


def test_software_is_told_from_version_3_on() -> None:
    """What is cut, older or newer tells none."""
    body = encode(ApiVersionsRequest(client_software_name="me", client_software_version="1"), 3)
    whole = request(1, b"\0" + body, api_key=18, version=3)[4:]

    assert read_client_software(whole) == ("me", "1")
    assert read_client_software(whole[:-3]) is None
    assert read_client_software(request(1, api_key=18, version=2)[4:]) is None
    assert read_client_software(request(1, b"\0", api_key=18, version=99)[4:]) is None
    assert read_client_software(b"\0") is None
