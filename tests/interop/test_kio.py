"""kio as a second, independent opinion on the wire format, for every message that it has."""

import importlib
import io
import pkgutil
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.layout import is_flexible
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.schema import Field, Kind, Struct, fields_of, snake_to_camel
from tiers.sampling import IS_EXHAUSTIVE, sample

pytestmark = pytest.mark.thorough

schema = pytest.importorskip("kio.schema", reason="kio is not installed")
serial = pytest.importorskip("kio.serial")


def of_api(package: str) -> str:
    """Return the API that a package of kio's is about, in lower case."""
    return package.replace("_", "")


def kio_entities() -> Iterator[tuple[Api, bool, int, Any]]:
    """Yield (API, whether it is the request, version, kio's class) of the APIs that are drawn."""
    apis = {api.name.lower(): api for api in API_BY_KEY.values()}
    apis["listclientmetricsresources"] = API_BY_KEY[74]
    packages = [each for each in pkgutil.iter_modules(schema.__path__) if of_api(each.name) in apis]
    for package in sample("kio", packages, 25):
        api = apis[of_api(package.name)]
        name = f"kio.schema.{package.name}"
        for module in pkgutil.iter_modules(importlib.import_module(name).__path__):
            for kind in ("request", "response"):
                entities = importlib.import_module(f"{name}.{module.name}.{kind}")
                whole = next(
                    value
                    for key, value in vars(entities).items()
                    if key.lower() == of_api(package.name) + kind
                )
                yield api, kind == "request", int(module.name[1:]), whole


class Sample:
    """Makes messages with a different small value in every field, so that no two are confused."""

    def __init__(self) -> None:
        self._number = 0

    def struct(self, cls: type[Struct], version: int, *, flexible: bool) -> Struct:
        """Return a struct with two elements in each array."""
        values = {
            field.name: self._field(field, version, flexible=flexible)
            for field in fields_of(cls)
            if field.is_in(version)
        }
        return cls(**values)

    def _field(self, field: Field, version: int, *, flexible: bool) -> Any:
        if field.is_array:
            return [self._single(field, version, flexible=flexible) for _ in range(2)]
        return self._single(field, version, flexible=flexible)

    def _single(self, field: Field, version: int, *, flexible: bool) -> Any:
        if not isinstance(field.kind, Kind):
            return self.struct(field.kind, version, flexible=flexible)
        # Error codes and small enumerations must stay among those that kio knows.
        self._number = self._number % 80 + 1
        texts: dict[Kind, Any] = {
            Kind.BOOLEAN: bool(self._number % 2),
            Kind.FLOAT64: self._number / 2,
            Kind.UUID: bytes([self._number]) * 16,
            Kind.STRING: f"s{self._number}",
            Kind.BYTES: bytes([self._number]),
            Kind.RECORDS: None if field.is_nullable_in(version) else b"",
        }
        return texts.get(field.kind, self._number)


def test_kio_reads_and_writes_what_kdiag_does(capsys: pytest.CaptureFixture[str]) -> None:
    """It consumes each message whole, agrees on every plain value and writes the same bytes."""
    count = 0
    for api, is_request, version, theirs in kio_entities():
        cls = api.request_class() if is_request else api.response_class()
        ours = Sample().struct(cls, version, flexible=is_flexible(cls, version))
        data = encode(ours, version)
        entity, size = serial.entity_reader(theirs)(data, 0)
        written = io.BytesIO()
        serial.entity_writer(theirs)(written, entity)

        assert (len(data), data) == (size, written.getvalue()), f"{theirs.__name__} v{version}"
        assert ours == decode(cls, version, written.getvalue())
        assert_alike(ours, entity)
        count += 1

    with capsys.disabled():
        sys.stdout.write(f" {count} messages agreed with kio ")
    assert count > (500 if IS_EXHAUSTIVE else 50)


def assert_alike(ours: Struct, theirs: Any) -> None:
    """Assert that kio gives the same strings and integers under the same names."""
    for field in fields_of(type(ours)):
        mine, other = getattr(ours, field.name), getattr(theirs, field.name, None)
        if isinstance(mine, str) and isinstance(other, str):
            assert mine == other, snake_to_camel(field.name)
        elif isinstance(mine, list) and mine and isinstance(mine[0], Struct):
            for one, another in zip(mine, other or (), strict=True):
                assert_alike(one, another)
