"""Every table there is."""

from typing import Final

from kdiag.report.tables.batches import BATCHES, RECORDS
from kdiag.report.tables.connections import CONNECTIONS, GAPS
from kdiag.report.tables.exchanges import EXCHANGES

TABLES: Final = {table.name: table for table in (EXCHANGES, BATCHES, RECORDS, CONNECTIONS, GAPS)}
"""The tables by name; `records` is there only when asked for."""
