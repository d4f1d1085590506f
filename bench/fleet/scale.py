#!/usr/bin/env python3
"""What the questions cost, and how that grows with the number of hosts: time, CPU and bytes read, in DuckDB.

Takes windows that agents wrote, and draws of them by a seed what each host has in each of its windows (ten minutes each), so
rows are as many and as large as real ones. They say nothing new: only the cost counts. One host in twenty runs another build
with a stack that is ours, of which a megabyte more is live at the end of each window, so that the answer to what grows is
known. Sizes are drawn up one after the other; from the first two the cost of the third is foretold, and held against it.
Needs `pip install duckdb` and, for 2,000 hosts, some gigabytes of disk.

    python3 bench/fleet/scale.py DIR_OF_WINDOWS --hosts 50 200 2000
"""
import argparse
import os
import sys
import tempfile
import time

import duckdb

HERE = os.path.dirname(os.path.abspath(__file__))
HOSTS_A_FILE, LEAK, LEAK_BYTES = 50, 77, 1_000_000
QUESTIONS = ["growth", "cost", "unlike", "rollback"]


def draw(connection, out, hosts, windows, seed):
    """Writes the windows of so many hosts, sorted as ours are, a file for each 50 of them."""
    (real,) = connection.execute("SELECT max(n) + 1 FROM real").fetchone()
    for begin in range(0, hosts, HOSTS_A_FILE):
        end = min(begin + HOSTS_A_FILE, hosts)
        start = "TIMESTAMPTZ '2026-11-23 00:00:00+00' + w * INTERVAL 10 MINUTE"
        time_of = f"{start} AS window_start, {start} + INTERVAL 10 MINUTE AS window_end"
        about = "CASE WHEN h % 20 = 0 THEN 'canary' ELSE 'stable' END AS version, 'host' || h AS host"
        places = f"range({begin}, {end}) AS hosts(h), range({windows}) AS windows(w)"
        os.makedirs(f"{out}/{begin}/all")
        connection.execute(f"""COPY (
            SELECT real.* EXCLUDE (n) REPLACE ({start} AS window_start, {start} + INTERVAL 10 MINUTE AS window_end,
                   CASE WHEN h % 20 = 0 THEN 'canary' ELSE 'stable' END AS version, 'host' || h AS host)
            FROM (SELECT h, w, (hash({seed}, h, w) % {real})::BIGINT AS n FROM {places}) AS drawn JOIN real USING (n)
            UNION ALL BY NAME
            SELECT (SELECT min(service) FROM real) AS service, {about}, {LEAK}::BIGINT AS stack, {time_of}, 1::INTEGER AS pid,
                   0::BIGINT AS alloc_objects, 0::BIGINT AS alloc_bytes, (w + 1)::BIGINT AS live_objects,
                   ({LEAK_BYTES} * (w + 1))::BIGINT AS live_bytes, 0e0 AS alloc_objects_variance, 0e0 AS alloc_bytes_variance,
                   0e0 AS live_objects_variance, 0e0 AS live_bytes_variance
            FROM {places} WHERE h % 20 = 0
            ORDER BY service, version, stack, window_start
        ) TO '{out}/{begin}/all/x.samples.parquet' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 65536)""")


def read_bytes():
    with open("/proc/self/io") as io:
        return int(next(line for line in io if line.startswith("rchar")).split()[1])


def ask(out, question):
    """The answer, seconds of the clock and of CPUs, and bytes read."""
    connection = duckdb.connect(config={"threads": 2, "memory_limit": "4GB", "temp_directory": out})
    source = f"read_parquet('{out}/*/*/*.samples.parquet', hive_partitioning = false)"
    connection.execute(f"CREATE VIEW samples AS SELECT * FROM {source}")
    with open(f"{HERE}/{question}.sql") as sql:
        text = sql.read()
    began, cpu, read = time.monotonic(), time.process_time(), read_bytes()
    answer = connection.execute(text).fetchall()
    return answer, time.monotonic() - began, time.process_time() - cpu, read_bytes() - read


def measure(out, hosts):
    """Seconds of CPU and bytes by question; what is wrong."""
    costs, wrong = {}, []
    for question in QUESTIONS:
        answer, took, cpu, read = ask(out, question)
        costs[question] = cpu, read
        print(f"  {question}: {took:.2f} s, {cpu:.2f} s of CPU, {read:,} bytes read")
        if question == "growth":
            first = answer[0] if answer else ()
            is_right = first[1:4] == ("canary", LEAK, -(-hosts // 20)) and abs(first[4] / (6 * LEAK_BYTES) - 1) < 1e-6
            wrong += [] if is_right else [f"of {hosts} hosts: {first}"]
    return costs, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("windows_dir")
    parser.add_argument("--hosts", type=int, nargs="+", default=[50, 200, 2000])
    parser.add_argument("--windows", type=int, default=144)
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--scratch", help="where the drawn windows lie meanwhile")
    args = parser.parse_args()
    sizes, wrong = [], []
    for hosts in args.hosts:
        with tempfile.TemporaryDirectory(prefix="heapscribe-scale-", dir=args.scratch) as out:
            connection = duckdb.connect(config={"threads": 2, "memory_limit": "4GB", "temp_directory": out})
            source = f"read_parquet('{args.windows_dir}/*/*/*.samples.parquet', hive_partitioning = false)"
            number = "dense_rank() OVER (ORDER BY host, window_start) - 1 AS n"
            connection.execute(f"CREATE TABLE real AS SELECT * EXCLUDE (labels), {number} FROM {source}")
            draw(connection, out, hosts, args.windows, args.seed)
            files = f"read_parquet('{out}/*/*/*.samples.parquet', hive_partitioning = false)"
            (rows,) = connection.execute(f"SELECT count(*) FROM {files}").fetchone()
            connection.close()
            size = sum(os.path.getsize(os.path.join(at, name)) for at, _, names in os.walk(out) for name in names)
            print(f"{hosts:,} hosts, {args.windows} windows: {rows:,} rows, {size:,} bytes of Parquet", flush=True)
            costs, of_size = measure(out, hosts)
            sizes.append((hosts, costs))
            wrong += of_size
    if len(sizes) > 2:
        (a, of_a), (b, of_b), (c, of_c) = sizes[0], sizes[1], sizes[-1]
        for question in QUESTIONS:
            for what, at in (("s of CPU", 0), ("bytes read", 1)):
                slope = (of_b[question][at] - of_a[question][at]) / (b - a)
                print(f"  {question} at {c:,} hosts: {of_b[question][at] + slope * (c - b):,.2f} {what} foretold, {of_c[question][at]:,.2f} measured")
    sys.exit("wrong: " + "; ".join(wrong) if wrong else print("right: what grows was found at each size"))


if __name__ == "__main__":
    main()
