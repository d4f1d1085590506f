# Sums of the windows of an agent, as DuckDB reads them: per window and over all.
import json
import sys

import duckdb

samples = f"read_parquet('{sys.argv[1]}/host=*/date=*/*.samples.parquet', hive_partitioning = false)"
stacks = f"read_parquet('{sys.argv[1]}/host=*/date=*/*.stacks.parquet', hive_partitioning = false)"
objects, size = duckdb.sql(f"SELECT sum(alloc_objects), sum(alloc_bytes) FROM {samples}").fetchall()[0]
windows = duckdb.sql(
    f"SELECT DISTINCT epoch_us(window_start), epoch_us(window_end) FROM {samples} ORDER BY 1"
).fetchall()
services = duckdb.sql(f"SELECT DISTINCT service, version, labels['region'] FROM {samples}").fetchall()
unplaced = duckdb.sql(
    f"SELECT count(*) FROM {samples} WHERE stack NOT IN (SELECT stack FROM {stacks})"
).fetchall()[0][0]
of_service = duckdb.sql(f"SELECT service, sum(alloc_objects)::BIGINT FROM {samples} GROUP BY ALL").fetchall()
print(json.dumps({
    "of_service": dict(of_service),
    "objects": int(objects), "bytes": int(size), "windows": windows, "services": services, "unplaced": unplaced,
}))
