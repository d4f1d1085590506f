#!/usr/bin/env python3
"""Which build of a fleet leaks, and where: asks growth.sql, and holds the answer against what the programs counted.

Records server.c on hosts of its own (`unshare --uts`, so as root), one in four with a build that leaks, an agent on each,
and asks the windows of all. With `--copies`, the query is also timed over so many copies of these hosts: copies say nothing
new, so only the time counts. Needs a C compiler, root, and `pip install duckdb`; chdb, datafusion
and pyspark are asked, too, where they are installed, and must answer the same.

    python3 bench/fleet/run.py target/release/heapscribe --hosts 16 --copies 100
"""
import argparse
import os
import subprocess
import sys
import tempfile
import time

import duckdb

import engines

HERE = os.path.dirname(os.path.abspath(__file__))
VERSIONS = {"1.4": [], "1.5": ["-DLEAK"]}
SESSION_BYTES = 6000


def record(program, out, hosts, seconds):
    """Windows of hosts; the bytes an hour that each build leaks on one, as the program itself counted."""
    for version, flags in VERSIONS.items():
        source = f"{HERE}/server.c"
        subprocess.run(["gcc", "-O1", "-g", *flags, source, "-o", f"{out}/server-{version}"], check=True)
    running = []
    for number in range(hosts):
        version = "1.5" if number % 4 == 0 else "1.4"
        agent = [program, "agent", "-o", f"{out}/windows", "--service", "shop", "--service-version", version]
        agent += ["--window", "1s", "--sample", "16KiB", "--", f"{out}/server-{version}", str(seconds)]
        shell = ["unshare", "--uts", "sh", "-c", f'hostname host{number:02}; exec "$@"', "sh", *agent]
        running.append((version, subprocess.Popen(shell, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)))
    leaked = {version: [] for version in VERSIONS}
    for version, process in running:
        sessions = int(process.communicate()[0])
        assert process.returncode == 0, process.args
        leaked[version].append(sessions * SESSION_BYTES / (seconds / 3600))
    return {version: sum(of) / len(of) for version, of in leaked.items()}


def ask():
    """The answer, and the seconds it took on the clock and on CPUs."""
    began, cpu = time.monotonic(), time.process_time()
    answer = duckdb.sql(open(f"{HERE}/growth.sql").read()).fetchall()
    return answer, time.monotonic() - began, time.process_time() - cpu


def others(real):
    """The answers of other engines that are installed, by name."""
    views = {"samples": f"{real}/*/*/*.samples.parquet"}
    with open(f"{HERE}/growth.sql") as file:
        sql = file.read()
    for name, engine in engines.installed(views, [name for name in engines.PACKAGES if name != "DuckDB"]):
        yield name, engines.plain(engine.ask(engines.text_for(name, sql)))


def functions(real, stack):
    """The functions of the program's frames, by the symbols of the file that they are in."""
    stacks = f"read_parquet('{real}/*/*/*.stacks.parquet', hive_partitioning = false)"
    frames = duckdb.sql(f"SELECT frames FROM {stacks} WHERE stack = {stack} LIMIT 1").fetchall()[0][0]
    of = [frame for frame in frames if "/server-" in (frame["module"] or "")]
    command = ["addr2line", "-f", "-e", of[0]["module"], *(hex(frame["offset"] - 1) for frame in of)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split("\n")[:-1:2]


def check(real, answer, truth):
    """What is wrong with the answer, in words."""
    if not answer:
        return ["nothing is said to grow"]
    wrong, (_, version, stack, _, growth, _) = [], answer[0]
    if version != "1.5" or "open_session" not in functions(real, stack):
        wrong.append("another build or stack is the first one")
    if any(row[1] != "1.5" and row[4] > growth / 4 for row in answer):
        wrong.append("the other build is said to grow, too")
    if abs(growth / truth["1.5"] - 1) > 0.25:
        wrong.append("the growth is off by more than a quarter")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("heapscribe")
    parser.add_argument("--hosts", type=int, default=16)
    parser.add_argument("--seconds", type=int, default=24)
    parser.add_argument("--copies", type=int, default=0)
    args = parser.parse_args()
    with open(f"{HERE}/../../docs/guide/agent.md") as guide, open(f"{HERE}/growth.sql") as query:
        lines = "".join(line for line in query if not line.startswith("--"))
        assert lines in guide.read(), "the guide has another query than growth.sql"
    with tempfile.TemporaryDirectory(prefix="heapscribe-fleet-") as out:
        truth = record(os.path.abspath(args.heapscribe), out, args.hosts, args.seconds)
        real = f"{out}/windows"
        source = f"read_parquet('{real}/*/*/*.samples.parquet', hive_partitioning = false)"
        duckdb.sql(f"CREATE TABLE samples AS SELECT * FROM {source}")
        answer, took, cpu = ask()
        print(f"{args.hosts} hosts, {args.seconds} s: {took:.2f} s, {cpu:.2f} s of CPU")
        for service, version, stack, hosts, growth, plus_minus in answer:
            names = " < ".join(functions(real, stack))
            print(f"{service} {version} on {hosts} hosts: {growth:,.0f} +- {plus_minus:,.0f} bytes an hour, {names}")
        print(f"the program itself: {truth['1.5']:,.0f} bytes an hour in 1.5, {truth['1.4']:,.0f} in 1.4")
        wrong = []
        for engine, other in others(real):
            is_same = other == engines.plain(answer)
            print(f"{engine}: {'the same' if is_same else other}")
            wrong += [] if is_same else [f"{engine} answers otherwise"]
        if args.copies:
            copied = f"SELECT * REPLACE (host || n AS host) FROM {source}, range({args.copies}) AS copies(n)"
            duckdb.sql(f"CREATE OR REPLACE TABLE samples AS {copied}")
            rows = duckdb.sql("SELECT count(*) FROM samples").fetchall()[0][0]
            _, took, cpu = ask()
            print(f"{args.hosts * args.copies:,} hosts, {rows:,} rows: {took:.2f} s, {cpu:.2f} s of CPU")
        wrong += check(real, answer, truth)
    sys.exit("wrong: " + ", ".join(wrong) if wrong else print("right: build, stack, growth"))


if __name__ == "__main__":
    main()
