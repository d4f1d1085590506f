"""The engines that the questions are asked in: one text for all, but for the name that the microseconds of a time have."""
import importlib.util
import json
import os
import re

# What `epoch_us(x)` is called.
MICROSECONDS = {
    "DuckDB": r"epoch_us(\1)",
    "DataFusion": r"CAST(\1 AS BIGINT)",
    "ClickHouse": r"toUnixTimestamp64Micro(\1)",
    "Spark": r"unix_micros(\1)",
}


def text_for(engine, sql):
    """The question in the engine's words."""
    return re.sub(r"epoch_us\((\w+)\)", MICROSECONDS[engine], sql)


def plain(rows):
    """Rows whose numbers compare: whole ones as int, others as float."""
    whole = lambda x: int(x) if isinstance(x, float) and x == int(x) else x
    number = lambda x: whole(float(x)) if x is not None and not isinstance(x, str) else x
    return [tuple(x if isinstance(x, (int, str)) else number(x) for x in row) for row in rows]


class DuckDB:
    def __init__(self, views):
        import duckdb

        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        for name, files in views.items():
            source = f"read_parquet('{files}', hive_partitioning = false)"
            self.connection.execute(f"CREATE VIEW {name} AS SELECT * FROM {source}")

    def ask(self, sql):
        return self.connection.execute(sql).fetchall()


class DataFusion:
    def __init__(self, views):
        import datafusion

        self.context = datafusion.SessionContext()
        for name, files in views.items():
            directory, ending = files.split("*", 1)[0], files.rsplit("*", 1)[-1]
            self.context.register_parquet(name, directory, file_extension=ending)

    def ask(self, sql):
        return [tuple(row.values()) for row in self.context.sql(sql).to_pylist()]


class ClickHouse:
    def __init__(self, views):
        from chdb.session import Session

        self.session = Session()
        for name, files in views.items():
            self.session.query(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM file('{files}', Parquet)")

    def ask(self, sql):
        # Its outer joins and names are not asked for; 64 bits come as text.
        lines = str(self.session.query(sql, "JSONCompactEachRowWithNamesAndTypes")).splitlines()
        if not lines:
            return []
        types = json.loads(lines[1])
        is_whole = [re.search(r"U?Int(64|128|256)\b", of) is not None for of in types]
        rows = (json.loads(line) for line in lines[2:] if line)
        return [tuple(int(x) if whole and x is not None else x for x, whole in zip(row, is_whole)) for row in rows]


class Spark:
    def __init__(self, views):
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.sql.session.timeZone", "UTC").config("spark.sql.shuffle.partitions", "2")
        self.session = builder.config("spark.driver.memory", "1g").getOrCreate()
        self.session.sparkContext.setLogLevel("ERROR")
        for name, files in views.items():
            directory, ending = files.split("*", 1)[0], files.rsplit("/", 1)[-1]
            reader = self.session.read.option("recursiveFileLookup", "true").option("pathGlobFilter", ending)
            reader.parquet(directory).createOrReplaceTempView(name)

    def ask(self, sql):
        return [tuple(row) for row in self.session.sql(sql).collect()]


PACKAGES = {"DuckDB": ("duckdb", DuckDB), "DataFusion": ("datafusion", DataFusion), "ClickHouse": ("chdb", ClickHouse), "Spark": ("pyspark", Spark)}


def installed(views, names=PACKAGES):
    """The engines that are there (`pip install duckdb chdb datafusion pyspark`, Spark with a Java), by name, with these
    views: names and patterns of files."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name in names:
        package, engine = PACKAGES[name]
        if importlib.util.find_spec(package):
            yield name, engine(views)
