"""`kdiag request --template` and `--fields`: the JSON and the fields of a request, to write one."""

from typing import Any, Final

import msgspec

from kdiag.wire.catalog import Api
from kdiag.wire.codec.template import FieldRow, field_rows, template
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.json_text import shown
from kdiag_cli.output.result import ResultFormat, encode, print_document
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output

_COLUMNS: Final = (
    TableColumn("FIELD"),
    TableColumn("TYPE"),
    TableColumn("VERSIONS"),
    TableColumn("NULLABLE", 2),
    TableColumn("TAG", 3),
    TableColumn("DEFAULT", 1),
)


def print_template(api: Api, version: int | None) -> ExitCode:
    """Print the JSON of a request with its defaults, by default of the newest version."""
    form = template(api.request_class(), api.versions.high if version is None else version)
    output = Output()
    output.write(shown(output, pretty(form)) + b"\n")
    output.flush()
    return ExitCode.DONE


def print_fields(
    api: Api, version: int | None, form: ResultFormat, *, is_wide: bool = False
) -> ExitCode:
    """Print the fields of a request, by default those of all versions."""
    rows = field_rows(api.request_class(), version)
    output = Output(is_wide=is_wide)
    if form is ResultFormat.JSON:
        print_document(output, "request", [each._asdict() for each in rows])
    else:
        print_table(output, _COLUMNS, map(_row, rows))
    output.flush()
    return ExitCode.DONE


def pretty(form: dict[str, Any]) -> bytes:
    """Return JSON for people: a field a line."""
    return msgspec.json.format(encode(form), indent=2)


def _row(row: FieldRow) -> tuple[object, ...]:
    is_object = row.type.endswith("object")
    shown = None if is_object else msgspec.json.encode(row.default).decode()
    return row.path, row.type, row.versions, row.nullable, row.tag, shown
