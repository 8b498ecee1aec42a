"""Columns and tables, each declared once: its description, and how its values are made.

    _PEOPLE = (
        Column("name", STRING, "Who it is.", lambda of: of.name),
        Column("age_ns", BIGINT, "How old they are.", lambda of: of.now_ns - of.birth_ns, "ns"),
    )
    PEOPLE = Table("people", "A person.", ("name",), _PEOPLE)
    person_row = cells_of(_PEOPLE)

From the declaration come the schemas of Arrow and Spark, `kdiag tables`, and the rows.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from kdiag.exchange.model import Connection

STRING: Final = "string"
BOOLEAN: Final = "boolean"
INT: Final = "int"
BIGINT: Final = "bigint"
DOUBLE: Final = "double"
TIMESTAMP: Final = "timestamp"
STRINGS: Final = "array<string>"
WHY: Final = "struct<offset:bigint,path:string,reason:string>"
TOPIC_PARTITIONS: Final = "array<struct<topic:string,partition:int>>"
API_RANGES: Final = "array<struct<api_key:int,min_version:int,max_version:int>>"
BIGINTS: Final = "array<bigint>"
OUTCOMES: Final = "array<struct<error:string,topic:string,partition:int>>"
CHANGE: Final = "struct<subjects:array<string>,text:string>"
BROKERS: Final = "array<struct<node_id:int,host:string,port:int>>"
CAUSES: Final = (
    "array<struct<cause:string,confidence:string,at_ns:bigint,member_id:string,instance_id:string,"
    "client_id:string,client_host:string,software:string,reason:string,note:string,"
    "packets:array<bigint>,silent_ns:bigint>>"
)
PHASES: Final = (
    "array<struct<member_id:string,client_id:string,client_host:string,find_coordinator_ns:bigint,"
    "asked_ns:bigint,joined_ns:bigint,synced_ns:bigint,first_heartbeat_ns:bigint,"
    "first_fetch_ns:bigint,told_ns:bigint,beat_gap_ns:bigint>>"
)
MOVES: Final = "array<struct<topic:string,partition:int,source:string,target:string>>"

F_contra = TypeVar("F_contra", contravariant=True)
"""The facts that a row is made of."""


class Column(NamedTuple, Generic[F_contra]):
    """One column; every column may be null.

    Attributes:
        name: with its unit, where it has one.
        type: in the notation that Spark's DDL and `kdiag tables` use.
        meaning: what it says, and when it is null.
        value: returns the value in the row of some facts.
        unit: the unit of a number; empty for anything else.
    """

    name: str
    type: str
    meaning: str
    value: Callable[[F_contra], Any]
    unit: str = ""


class Table(NamedTuple):
    """One table.

    Attributes:
        name: of the table, and of its Parquet file.
        meaning: what a row is.
        key: the columns that identify a row; the same in every run.
        columns: in their order.
        sum: the column to add up where rows are the same in all others; empty if no rows are.
    """

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column[Any], ...]
    sum: str = ""

    @property
    def ddl(self) -> str:
        """Return the schema as Spark's DDL: `number bigint, time timestamp, ...`."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


def cells_of(columns: Sequence[Column[F_contra]]) -> Callable[[F_contra], tuple[Any, ...]]:
    """Return the function that makes the cells of these columns from the facts of a row."""
    values = {f"value_{number}": each.value for number, each in enumerate(columns)}
    calls = "".join(f"{name}(facts), " for name in values)
    # One call for each column, which Python specialises: a loop would take 2 us more for a row.
    exec(f"def cells(facts): return ({calls})", values)  # noqa: S102 - made of numbers alone
    cells: Callable[[F_contra], tuple[Any, ...]] = values["cells"]
    return cells


class HasConnection(Protocol):
    """Facts that belong to a connection."""

    @property
    def connection(self) -> Connection:
        """Return the connection."""
        ...


def client_host(connection: Connection) -> str:
    """Return the address of the client without its port, IPv6 without brackets."""
    return _host_of(connection.client)


@lru_cache(1024)
def _host_of(address: str) -> str:
    return address.rpartition(":")[0].strip("[]")


CONNECTION_ID: Final[Column[HasConnection]] = Column(
    "connection_id",
    STRING,
    "The connection: its 5-tuple and the time of its first packet.",
    lambda of: of.connection.connection_id,
)
CLIENT: Final[Column[HasConnection]] = Column(
    "client", STRING, "Address and port of the end that asks.", lambda of: of.connection.client
)
CLIENT_HOST: Final[Column[HasConnection]] = Column(
    "client_host", STRING, "The address of `client` alone.", lambda of: client_host(of.connection)
)
BROKER: Final[Column[HasConnection]] = Column(
    "broker", STRING, "Address and port of the end that answers.", lambda of: of.connection.broker
)
