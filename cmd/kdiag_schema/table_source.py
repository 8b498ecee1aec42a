"""The Python source of the tables: wire/api_keys.py, wire/api/table.py and wire/internal/table.py.

They hold data alone; kdiag/wire/catalog.py and kdiag/wire/record_catalog.py, written by hand, give
them their meaning.
"""

from collections.abc import Sequence
from typing import Final

from kdiag_schema.class_source import snake_case
from kdiag_schema.merge import MergedMessage
from kdiag_schema.module_source import api_name, record_module

API_KEYS: Final = '''\
"""The API keys, under the names of Kafka's `ApiKeys`. Written by `kdiag_schema`."""

from typing import Final

'''
API_TABLE: Final = '''\
"""Every Kafka API: key, name, module, all versions, flexible versions, today's versions.

Written by `kdiag_schema`; `kdiag.wire.catalog` reads it.
"""

from typing import Final

NEWEST_KAFKA: Final = "{newest}"

ROWS: Final = (
{rows})
'''
RECORD_TABLE: Final = '''\
"""Every message of Kafka's internal topics and logs: record types and modules.

Written by `kdiag_schema`; `kdiag.wire.record_catalog` reads it.
"""

from typing import Final

COORDINATOR_RECORDS: Final = {{
{coordinator_records}}}

METADATA_RECORDS: Final = {{
{metadata_records}}}

MODULE_BY_NAME: Final = {modules!r}
'''


def api_keys_source(requests: Sequence[MergedMessage]) -> str:
    """Return the source of kdiag/wire/api_keys.py, given the requests by ascending key."""
    rows = (f"{snake_case(api_name(each)).upper()}: Final = {each.number}\n" for each in requests)
    return API_KEYS + "".join(rows)


def api_table_source(requests: Sequence[MergedMessage], newest: str) -> str:
    """Return the source of kdiag/wire/api/table.py, given the requests by ascending key."""
    rows = "".join(f"    {_api_row(each)},\n" for each in requests)
    return API_TABLE.format(newest=newest, rows=rows)


def _api_row(request: MergedMessage) -> str:
    name = api_name(request)
    ranges = (request.versions, request.flexible, request.newest or "none")
    versions = ", ".join(f'"{each}"' for each in ranges)
    return f'({request.number}, "{name}", "{snake_case(name)}", {versions})'


def record_table_source(messages: Sequence[MergedMessage]) -> str:
    """Return the source of kdiag/wire/internal/table.py."""
    keys = [each for each in messages if each.kind == "coordinator-key"]
    return RECORD_TABLE.format(
        coordinator_records=_rows_by_topic(keys),
        metadata_records=_rows_by_topic([each for each in messages if each.kind == "metadata"]),
        modules={each.name: record_module(each) for each in sorted(messages)},
    )


def _rows_by_topic(records: Sequence[MergedMessage]) -> str:
    """Return entries `topic: {record type: name}`; a coordinator's key gives the name of both."""
    topics: dict[str, str] = {}
    for record in sorted(records, key=lambda each: (each.number or 0, each.name)):
        row = f'        {record.number}: "{record.name.removesuffix("Key")}",\n'
        topics[record.topic or ""] = topics.get(record.topic or "", "") + row
    return "".join(f'    "{topic}": {{\n{rows}    }},\n' for topic, rows in sorted(topics.items()))
