"""Makes `spark.read.format("kdiag")` known: PySpark looks into packages named `pyspark_...`.

Spark imports this wherever kdiag is installed, also for readers of other formats. So it loads
nothing of kdiag before somebody reads a capture.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from kdiag.pipeline.dataframes.source import TableReader


class DefaultSource(DataSource):
    """Captures as the tables that `kdiag tables` explains; see `kdiag.spark` for the options."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kdiag"

    def schema(self) -> str:
        """Return all columns of the table that the options name.

        Raises:
            ValueError: if there is no such table.
        """
        from kdiag.pipeline.dataframes.source import ddl_of  # noqa: PLC0415 - 400 ms; see above

        return ddl_of(self.options)

    def reader(self, schema: "StructType") -> "TableReader":
        """Return the reader of some of the columns.

        Raises:
            ValueError: if an option is wrong.
        """
        from kdiag.pipeline.dataframes.source import reader_of  # noqa: PLC0415 - as above

        return reader_of(schema.fieldNames(), self.options)
