"""Pure Python: dicts, re, decimal, ast and compile, csv. Written for the corpus of real programs, `python-malloc`
there; the result is printed as a hash."""
import ast
import csv
import decimal
import hashlib
import io
import json
import re
import sys

records = json.load(open(sys.argv[1]))
result = hashlib.sha256()


def index():
    by_tag = {}
    for r in records:
        for tag in r["tags"]:
            by_tag.setdefault(tag, []).append(r["id"])
        words = re.findall(r"\b([a-m]\w+) (\w+)\b", r["text"])
        result.update(repr(words[:3]).encode())
    result.update(json.dumps(by_tag, sort_keys=True).encode())


def decimals():
    decimal.getcontext().prec = 60
    d = decimal.Decimal(1)
    for r in records[:8000]:
        d = (d * decimal.Decimal(repr(r["pos"]["x"] + 0.5))).normalize() + decimal.Decimal(r["id"]) / 7
        d = d if abs(d) < 10**40 else decimal.Decimal(3)
    result.update(str(d).encode())


def code():
    form = "def f%d(a,b=%d):\n  x=[i*%d for i in range(a) if i%%3]\n  return {'%s':x,'k':b}"
    source = "\n".join(form % (i, i, i, r["name"]) for i, r in enumerate(records[:1500]))
    tree = ast.parse(source)
    result.update(str(sum(1 for _ in ast.walk(tree))).encode())
    result.update(compile(tree, "x", "exec").co_code)


def rows():
    text = io.StringIO()
    writer = csv.writer(text)
    for r in records:
        writer.writerow([r["id"], r["name"], r["text"]])
    result.update(str(len(list(csv.reader(io.StringIO(text.getvalue()))))).encode())


for step in (index, decimals, code, rows):
    step()
print(result.hexdigest())
