from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.offset_delete import OffsetDeleteResponse
from kdiag.wire.codec.encoder import EncoderSource


def test_a_fixed_field_is_packed_with_the_length_after_it() -> None:
    """Heartbeat v0 writes its generation together with the member id's length."""
    text = EncoderSource(HeartbeatRequest, 0, errors="strict").text

    assert "(m.generation_id, len(" in text


def test_absent_fields_are_refused_unless_ignorable() -> None:
    """Heartbeat v0 has no group instance id and may not drop it."""
    assert (
        "if m.group_instance_id is not None:"
        in EncoderSource(HeartbeatRequest, 0, errors="strict").text
    )
    assert (
        "group_instance_id is not None"
        not in EncoderSource(OffsetDeleteResponse, 0, errors="strict").text
    )
