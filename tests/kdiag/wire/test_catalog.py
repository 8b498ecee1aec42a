import subprocess
import sys

import pytest

from kdiag.wire.catalog import API_BY_KEY, NEWEST_KAFKA, api_named
from kdiag.wire.schema import MAX_VERSION, Versions, info_of
from real_kafka.oracle_tables import api_table, spoken_pairs
from real_kafka.releases import VERSIONS


def test_the_catalog_has_every_version_that_some_kafka_speaks_and_no_other() -> None:
    """Each pair of key and version; no key between the first and the last is left out."""
    listed = {
        (api.key, version)
        for api in API_BY_KEY.values()
        for version in range(api.versions.low, api.versions.high + 1)
    }
    assert listed == spoken_pairs()
    assert list(API_BY_KEY) == list(range(len(API_BY_KEY)))


@pytest.mark.parametrize("release", VERSIONS)
def test_headers_and_flexible_versions_are_kafka_s(release: str) -> None:
    """For every version that a Kafka speaks, both directions."""
    for row in api_table(release):
        api = API_BY_KEY[row["api_key"]]
        versions = range(row["min"], row["max"] + 1)
        requests = [api.request_header_version(each) for each in versions]
        responses = [api.response_header_version(each) for each in versions]
        assert requests == row["request_header_versions"], api.name
        assert responses == row["response_header_versions"], api.name
        first = row["request_flexible_from"]
        assert [api.flexible.covers(each) for each in versions] == [
            first is not None and each >= first for each in versions
        ]


def test_names_and_today_s_versions_are_those_of_the_newest_kafka() -> None:
    """What that no longer has, has no versions today."""
    rows = {row["api_key"]: row for row in api_table(NEWEST_KAFKA)}
    for api in API_BY_KEY.values():
        if row := rows.get(api.key):
            assert (api.name, api.newest) == (row["api"], Versions(row["min"], row["max"]))
        else:
            assert api.newest is None


def test_an_unknown_version_has_the_header_of_the_last() -> None:
    """A frame of a newer Kafka can still be matched, though not decoded."""
    for api in API_BY_KEY.values():
        last = api.versions.high
        assert api.request_header_version(MAX_VERSION) == api.request_header_version(last)
        assert api.response_header_version(MAX_VERSION) == api.response_header_version(last)


def test_an_answer_of_api_versions_always_has_the_old_header() -> None:
    """The client cannot know yet which version the broker answers in."""
    api = API_BY_KEY[18]
    assert {api.response_header_version(each) for each in range(MAX_VERSION)} == {0}


def test_every_class_declares_what_its_line_says() -> None:
    """Key, versions and flexible versions stand in the catalog and in the module."""
    for api in API_BY_KEY.values():
        for cls in (api.request_class(), api.response_class()):
            info = info_of(cls)
            assert info[1:] == (api.versions, api.flexible, api.key), api.name
        assert api.request_class().__name__ == f"{api.name}Request"
        assert api.response_class().__name__ == f"{api.name}Response"


def test_an_api_is_found_by_its_name_in_any_case() -> None:
    """People type `--api fetch`."""
    assert api_named("Fetch") == api_named("fetch") == api_named("FETCH") == API_BY_KEY[1]
    assert api_named("Fetc") is None


@pytest.mark.thorough
def test_the_catalog_imports_no_api() -> None:
    """`kdiag --help` must not pay for a hundred modules."""
    program = (
        "import sys, kdiag.wire.catalog\n"
        "before = set(sys.modules)\n"
        "kdiag.wire.catalog.API_BY_KEY[1].request_class()\n"
        "print([name for name in before if name.startswith('kdiag.wire.api.')])\n"
        "print([name for name in sys.modules if name not in before and 'kdiag' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert done.stdout.decode().split("\n") == [
        "['kdiag.wire.api.table']",
        "['kdiag.wire.api.fetch']",
        "",
    ]
