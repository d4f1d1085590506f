"""Prints what readers of other projects find in the tables of a directory, as JSON: pyarrow, and duckdb and polars where they are there."""
import json
import pathlib
import sys

import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq

directory = pathlib.Path(sys.argv[1])
FIGURES = ["alloc_objects", "alloc_bytes", "live_objects", "live_bytes"]


def read(name):
    file = next(directory.glob(name + ".*"))
    if file.suffix == ".parquet":
        return pq.read_table(file)
    if file.suffix == ".arrow":
        return pyarrow.feather.read_table(file)
    return pyarrow.csv.read_csv(file)


samples, stacks = read("samples"), read("stacks")
out = {"sums": {name: sum(samples[name].to_pylist()) for name in FIGURES}}
out["variance"] = sum(samples["live_bytes_variance"].to_pylist())
frames = stacks["frames"].to_pylist()
frames = [json.loads(text) if isinstance(text, str) else text for text in frames]


def name(frame):
    if frame["function"]:
        return frame["function"]
    return (frame["module"].rsplit("/")[-1] + "+" if frame["module"] else "") + hex(frame["offset"])


names = {stack: [name(frame) for frame in of] for stack, of in zip(stacks["stack"].to_pylist(), frames)}
out["stacks"] = stacks.num_rows
live = {}
for stack, n in zip(samples["stack"].to_pylist(), samples["alloc_bytes"].to_pylist()):
    key = ";".join(reversed(names[stack])) or "[unknown stack]"
    live[key] = live.get(key, 0) + n
out["allocated"] = live
out["windows"] = len(set(samples["window_start"].to_pylist()))
if next(directory.glob("events.*"), None):
    events = read("events")
    sizes, deaths = events["size_bytes"].to_pylist(), events["death_ns"].to_pylist()
    out["events"] = {
        "blocks": len(sizes),
        "bytes": sum(sizes),
        "never_freed": sum(n for n, death in zip(sizes, deaths) if death is None),
        "ages": all(death is None or death >= birth for birth, death in zip(events["birth_ns"].to_pylist(), deaths)),
        "unknown_stacks": len(set(events["stack"].to_pylist()) - set(names)),
    }
if (file := directory / "samples.parquet").exists():
    metadata = pq.read_metadata(file)
    facts = {key.decode(): value.decode() for key, value in metadata.metadata.items()}
    out["schema"] = facts["heapscribe.schema"]
    group = metadata.row_group(0)
    out["sorting"] = [column.column_index for column in group.sorting_columns]
    column = group.column(2).statistics
    known = sorted(samples["stack"].to_pylist())
    out["statistics"] = [column.min, column.max] == [known[0], known[-1]]
    sums = ", ".join(f"sum({name})::bigint" for name in FIGURES)
    try:
        import duckdb

        top = f"from '{directory}/samples.parquet' join '{directory}/stacks.parquet' using (stack)"
        out["duckdb"] = dict(zip(FIGURES, duckdb.sql(f"select {sums} {top}").fetchall()[0]))
        perl = f"select count(*) from '{file}' where labels['program'] = service"
        out["duckdb_labels"] = duckdb.sql(perl).fetchall()[0][0] == samples.num_rows
    except ImportError:
        pass
    try:
        import polars

        sums = polars.scan_parquet(file).select(FIGURES).sum().collect()
        out["polars"] = {name: sums[name][0] for name in FIGURES}
    except ImportError:
        pass
print(json.dumps(out))
