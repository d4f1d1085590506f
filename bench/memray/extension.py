"""A program whose module in C, fastrow.c, loses the memory of each row, 33 MB in the end, and takes 40 MB once."""
import fastrow


def load(rows):
    total = 0
    for row in rows:
        total += fastrow.parse(row)  # LEAK
    return total


def summary():
    return fastrow.widest()  # PEAK


ROWS = ["row %d of the file, with some words in it" % (n % 1000) for n in range(20_000)]
for turn in range(40):
    load(ROWS)
    if turn == 20:
        summary()
