"""A script in pandas that keeps a part of each table in a cache, 57 MB in the end, and once joins all of one into a
table of 45 MB."""
import numpy as np
import pandas as pd

CACHE = []


def part_of(n):
    draw = np.random.default_rng(n)
    table = pd.DataFrame({"key": draw.integers(0, 50, 12_000), "a": draw.random(12_000), "b": draw.random(12_000)})
    means = table.groupby("key").transform("mean")
    return table.assign(a=means["a"])[table["key"] < 25]


def wide(n):
    table = part_of(n)
    return pd.concat([table] * 310, ignore_index=True)["b"].sum()  # PEAK


for n in range(400):
    CACHE.append(part_of(n).copy())  # LEAK
    if n == 200:
        wide(n)
