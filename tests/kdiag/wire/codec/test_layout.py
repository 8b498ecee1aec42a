import pytest

from kdiag.wire.api.api_versions import ApiVersionsResponse
from kdiag.wire.api.fetch import FetchPartition, FetchRequest
from kdiag.wire.api.metadata import MetadataResponse
from kdiag.wire.codec.layout import check_version, is_flexible, minimum_bytes, tagged, untagged


def test_tagged_fields_are_apart_and_ascend() -> None:
    """Version 15 of Fetch knows two tagged fields; its others are always on the wire."""
    assert [field.tag for field in tagged(FetchRequest, 15)] == [0, 1]
    assert "cluster_id" not in [field.name for field in untagged(FetchRequest, 15)]
    assert [field.tag for field in tagged(ApiVersionsResponse, 4)] == [0, 1, 2, 3]


def test_the_least_size_counts_every_untagged_field() -> None:
    """A Fetch v4 partition is partition, offset and max bytes; a flexible one adds its tags."""
    assert minimum_bytes(FetchPartition, 4, flexible=False) == 4 + 8 + 4
    assert minimum_bytes(FetchPartition, 12, flexible=True) == 4 + 4 + 8 + 4 + 8 + 4 + 1


def test_flexible_versions_and_existing_versions_come_from_the_declaration() -> None:
    """Metadata is flexible from 9 on, and has no version 99."""
    assert [is_flexible(MetadataResponse, version) for version in (8, 9)] == [False, True]
    with pytest.raises(ValueError, match="not 99"):
        check_version(MetadataResponse, 99)
