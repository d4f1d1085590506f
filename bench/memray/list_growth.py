"""Pure Python: a list that grows by a short text for each event, 48 MB in the end, and once a text of 65 MB."""

SEEN = []


def note(n):
    SEEN.append("event %08d of kind %03d" % (n, n % 700))  # LEAK


def page():
    return len("\n".join(SEEN * 8))  # PEAK


for n in range(600_000):
    note(n)
    if n == 300_000:
        page()
