"""Clients that were given the port of a controller: their requests, made of rows of tables."""

from typing import Final

from kdiag.diagnosis.traffic.controllers import OF_CLIENTS
from kdiag.diagnosis.traffic.traffic import Traffic, is_own
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsResponse
from kdiag.wire.frame import Frame

_PACKAGE: Final = "kdiag.report.overview.traffic"
_OF_CONTROLLER: Final = ApiVersionsResponse(api_keys=[ApiVersion(api_key=api_keys.VOTE)])
_EMPTY: Final = b""


def read_lost_clients(database: Database, traffic: Traffic) -> str:
    """Look at what clients asked controllers.

    Args:
        database: the tables.
        traffic: gets the requests.

    Returns:
        An empty text: nothing is unknown.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    chosen = {"of_clients": sorted(OF_CLIENTS), "of_controllers": [api_keys.VOTE]}
    rows = ask(database, "controllers", _PACKAGE, **chosen)
    if not rows:
        return ""
    (end,) = ask(database, "end", _PACKAGE)
    connections: dict[str, Connection] = {}
    for row in rows:
        if is_own(row["client_id"]):
            continue
        connection = connections.setdefault(
            row["connection_id"], _connection(row, len(connections), end["last_seen_ns"])
        )
        traffic.controllers.learn_listener(row["broker"], _OF_CONTROLLER)
        traffic.controllers.add(_exchange(row, connection))
    return ""


def _connection(row: Row, number: int, last_ns: int) -> Connection:
    return Connection(
        number=number,
        connection_id=row["connection_id"],
        client=row["client"],
        broker=row["broker"],
        first_ns=row["first_ns"],
        last_ns=last_ns,
        closed_ns=row["closed_ns"],
    )


def _exchange(row: Row, connection: Connection) -> Exchange:
    time_ns = row["time_ns"]
    return Exchange(
        number=row["number"],
        connection=connection,
        api_key=row["api_key"],
        version=None,
        correlation_id=None,
        client_id=row["client_id"],
        request=Frame(_EMPTY, 0, time_ns, time_ns, 0, 0),
        response=None,
        pairing=Status.OK,
    )
