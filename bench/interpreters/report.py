"""A script in pandas: read CSV, derive columns, group, join, pivot, write CSV. Prints a hash of what it wrote."""
import hashlib
import sys

import pandas as pd

result = hashlib.sha256()


def one(path):
    rows = pd.read_csv(path)
    rows["first"] = rows["name"].str.split(" ").str[0]
    rows["size"] = pd.cut(rows["y"], [0, 1e5, 3e5, 6e5, 1e6], labels=["s", "m", "l", "xl"])
    rows["share"] = rows.groupby("kind")["y"].transform(lambda y: y / y.sum())
    means = rows.groupby("kind", as_index=False).agg(mean=("y", "mean"), most=("x", "max"))
    joined = rows.merge(means, on="kind").query("y > mean").sort_values(["kind", "id"])
    by_size = joined.pivot_table(index="kind", columns="size", values="share", aggfunc="sum", observed=False)
    result.update(joined.head(5000).to_csv(index=False).encode())
    result.update(by_size.round(9).to_csv().encode())
    for row in joined.head(5000).itertuples():
        result.update(("%s %.3f" % (row.first, row.share)).encode())


for _ in range(int(sys.argv[2])):
    one(sys.argv[1])
print(result.hexdigest())
