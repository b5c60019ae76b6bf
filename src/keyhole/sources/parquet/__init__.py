"""Examples in Parquet files: only the column chunks that are looked at are read.

`source` is what users meet. `finding` turns what they name into files, `layout` reads the footers, `order` decides
which rows a query gets, `tasks` sums a statistic over some of them, `travel` takes tasks to workers, `chunks` reads
and keeps the values, and `exchangeability` compares the partitions.
"""

from keyhole.sources.parquet.exchangeability import Exchangeability, NotExchangeable
from keyhole.sources.parquet.source import ParquetSource

__all__ = ["Exchangeability", "NotExchangeable", "ParquetSource"]
