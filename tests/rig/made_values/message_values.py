"""Random messages for property tests: any class, any version, any value its schema allows."""

from collections.abc import Iterator

from hypothesis import strategies as st

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.layout import is_flexible
from kdiag.wire.schema import Field, Kind, Struct, fields_of

UNKNOWN_TAGS = st.dictionaries(
    st.integers(1000, 2**31 - 2), st.binary(max_size=20), min_size=1, max_size=3
)

PRIMITIVES: dict[Kind, st.SearchStrategy[object]] = {
    Kind.BOOLEAN: st.booleans(),
    Kind.INT8: st.integers(-(2**7), 2**7 - 1),
    Kind.INT16: st.integers(-(2**15), 2**15 - 1),
    Kind.UINT16: st.integers(0, 2**16 - 1),
    Kind.INT32: st.integers(-(2**31), 2**31 - 1),
    Kind.UINT32: st.integers(0, 2**32 - 1),
    Kind.INT64: st.integers(-(2**63), 2**63 - 1),
    Kind.FLOAT64: st.floats(allow_nan=False),
    Kind.UUID: st.binary(min_size=16, max_size=16),
    Kind.STRING: st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
    Kind.BYTES: st.binary(max_size=200),
    Kind.RECORDS: st.binary(max_size=200),
}


def message_pairs() -> Iterator[tuple[type[Struct], int]]:
    """Yield every request and response class with every version it has."""
    for api in API_BY_KEY.values():
        for version in range(api.versions.low, api.versions.high + 1):
            yield api.request_class(), version
            yield api.response_class(), version


def messages(cls: type[Struct], version: int) -> st.SearchStrategy[Struct]:
    """Return a strategy for messages of a class that can be written in a version."""
    return _structs(cls, version, flexible=is_flexible(cls, version))


def _structs(cls: type[Struct], version: int, *, flexible: bool) -> st.SearchStrategy[Struct]:
    values = {
        field.name: _values(field, version, flexible=flexible)
        for field in fields_of(cls)
        if field.is_in(version)
    }
    tags = st.none() | UNKNOWN_TAGS if flexible else st.none()
    return st.builds(cls, unknown_tagged_fields=tags, **values)


def _values(field: Field, version: int, *, flexible: bool) -> st.SearchStrategy[object]:
    single: st.SearchStrategy[object]
    if isinstance(field.kind, Kind):
        single = PRIMITIVES[field.kind]
    else:
        single = _structs(field.kind, version, flexible=flexible)
    value = st.lists(single, max_size=3) if field.is_array else single
    return st.none() | value if field.is_nullable_in(version) else value
