"""Tables and their columns, described once: for Arrow, for `kdiag tables`, for who writes SQL."""

from typing import Final, NamedTuple

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


class Column(NamedTuple):
    """One column; every column may be null.

    Attributes:
        name: with its unit, where it has one.
        type: in the notation that Spark's DDL and `kdiag tables` use.
        unit: what a number counts; empty for anything else.
        meaning: what it says, and when it is null.
    """

    name: str
    type: str
    unit: str
    meaning: str


class Table(NamedTuple):
    """One table.

    Attributes:
        name: of the table, and of its Parquet file.
        meaning: what a row is.
        key: the columns that tell its rows apart; the same in every run.
        columns: in their order.
    """

    name: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def ddl(self) -> str:
        """Return the schema as Spark's DDL: `number bigint, time timestamp, ...`."""
        return ", ".join(f"{column.name} {column.type}" for column in self.columns)


RUN_COLUMNS: Final = frozenset({"connection", "number"})
"""The columns that count within one run; all others are the same in every run."""
EXCHANGE_KEY: Final = ("connection_id", "time_ns", "correlation_id")
"""What the rows of an exchange, of its batches and of its records share.

Two exchanges would share it only if a client began two requests with the same correlation id on one
connection in the same nanosecond.
"""

CONNECTION_ID: Final = Column(
    "connection_id", STRING, "", "The connection: its 5-tuple and the time of its first packet."
)
TIME: Final = Column(
    "time", TIMESTAMP, "", "When the first byte of the exchange was seen, UTC, to the microsecond."
)
TIME_NS: Final = Column(
    "time_ns", BIGINT, "ns", "The same since 1970, with all digits that the capture has."
)
CORRELATION_ID: Final = Column(
    "correlation_id", INT, "", "Of the header; null for a frame without one, such as a SASL token."
)
CLIENT: Final = Column("client", STRING, "", "Address and port of the end that asks.")
CLIENT_HOST: Final = Column("client_host", STRING, "", "The address of `client` alone.")
BROKER: Final = Column("broker", STRING, "", "Address and port of the end that answers.")
CLIENT_ID: Final = Column(
    "client_id", STRING, "", "Of the request header; null if there is none or it was not seen."
)
API: Final = Column("api", STRING, "", "Kafka's name of the API, such as `Fetch`; null if unknown.")
VERSION: Final = Column("version", INT, "", "Version of the API; null if unknown.")
TOPIC: Final = Column(
    "topic", STRING, "", "The topic; its id where the captures do not tell the name."
)
TOPIC_ID: Final = Column("topic_id", STRING, "", "The id on the wire; null where the name is.")
PARTITION: Final = Column("partition", INT, "", "The partition.")
BATCH_INDEX: Final = Column(
    "batch_index", INT, "", "Which batch of the exchange, from 0 in the order of the wire."
)
