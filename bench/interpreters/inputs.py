#!/usr/bin/env python3
"""Writes what the programs read into the directory that is named, the same each time: records as JSON and as
CSV, items as XML."""
import csv
import json
import random
import sys
from pathlib import Path

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = ["".join(random.Random(i).choice(LETTERS) for _ in range(3 + i % 9)) for i in range(4000)]


def records(draw, count):
    return [
        {
            "id": i,
            "name": " ".join(draw.choices(WORDS, k=3)),
            "tags": draw.choices(WORDS[:200], k=draw.randint(0, 6)),
            "pos": {"x": draw.random(), "y": round(draw.random() * 1e6, 3)},
            "parent": draw.randrange(i + 1) or None,
            "text": " ".join(draw.choices(WORDS, k=draw.randint(5, 40))),
        }
        for i in range(count)
    ]


def items(draw, count):
    yield "<root>"
    for i in range(count):
        kind, title = draw.choice(WORDS[:50]), " ".join(draw.choices(WORDS, k=4))
        price = "%d.%02d" % (draw.randrange(500), draw.randrange(100))
        note = "%s &amp; %s" % (draw.choice(WORDS), draw.choice(WORDS))
        yield f'<item id="{i}" kind="{kind}"><title>{title}</title><price>{price}</price><note>{note}</note></item>'
    yield "</root>"


def main():
    directory = Path(sys.argv[1])
    all_records = records(random.Random(1), 40_000)
    (directory / "records.json").write_text(json.dumps(all_records))
    (directory / "items.xml").write_text("\n".join(items(random.Random(3), 60_000)))
    with open(directory / "records.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "name", "kind", "x", "y"])
        for r in all_records:
            kind = r["tags"][0] if r["tags"] else "none"
            rows.writerow([r["id"], r["name"], kind, r["pos"]["x"], r["pos"]["y"]])


main()
