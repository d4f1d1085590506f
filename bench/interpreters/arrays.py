"""numpy, pandas and lxml, with a hundred extension modules that are loaded by dlopen. Written for the corpus of real
programs, `python-numpy` there; the result is printed as a hash."""
import hashlib
import json
import sys

import numpy as np
import pandas as pd
from lxml import etree

result = hashlib.sha256()


def table(path):
    kept = ("id", "name", "parent", "text")
    frame = pd.DataFrame([{k: v for k, v in r.items() if k in kept} for r in json.load(open(path))])
    for _ in range(3):
        frame["length"] = frame["text"].astype(object).str.split().str.len()
        groups = frame.groupby("length").agg({"id": ["sum", "max"], "name": "min"})
        result.update(groups.to_csv().encode())
        joined = frame.merge(frame, left_on="id", right_on="parent")
        result.update(str(joined.shape).encode())


def arrays():
    a = np.arange(400000.0)
    for i in range(150):
        result.update(str(float(np.sort(a[::-1] * i).sum())).encode())
    for i in range(200000):
        b = np.zeros(i % 97 + 1)
        b += i


def titles(path):
    for item in etree.parse(path).xpath("//item[@kind]"):
        result.update(item.findtext("title").encode())


table(sys.argv[1])
arrays()
titles(sys.argv[2])
print(result.hexdigest())
