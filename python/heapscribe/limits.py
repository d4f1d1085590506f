"""Markers: what a test says of its memory, and sizes as they are written there."""

import re

UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
UNITS.update({"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40})
SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")


def parse_size(text):
    """`24 MB` in bytes. KB, MB and GB are powers of 1,024, as pytest-memray has them."""
    match = SIZE.fullmatch(text) if isinstance(text, str) else None
    if match is None or match[2] not in UNITS:
        raise ValueError(f"{text!r} is not a size; write for example '24 MB'")
    return int(float(match[1]) * UNITS[match[2]])


def show_size(size):
    """Bytes, with a short form."""
    if size < 1024:
        return f"{size:,} bytes"
    short, unit = float(size), "B"
    for unit in ("KiB", "MiB", "GiB", "TiB"):
        short /= 1024
        if short < 1024:
            break
    return f"{size:,} bytes ({short:.3g} {unit})" if short < 1000 else f"{size:,} bytes ({short:.0f} {unit})"


class Limits:
    """What the markers of a test limit; None where they do not."""

    def __init__(self, memory=None, leaks=None, warmups=0):
        self.memory = memory
        self.leaks = leaks
        self.warmups = warmups

    @classmethod
    def of(cls, item):
        """The limits of a test, None without a marker. A marker that cannot be read is an error of its author."""
        memory, leaks = item.get_closest_marker("limit_memory"), item.get_closest_marker("limit_leaks")
        if memory is None and leaks is None:
            return None
        limits = cls()
        if memory is not None:
            limits.memory = parse_size(_only_argument(memory, "memory_limit", ()))
        if leaks is not None:
            limits.leaks = parse_size(_only_argument(leaks, "location_limit", ("warmups",)))
            limits.warmups = int(leaks.kwargs.get("warmups", 0))
        return limits


def _only_argument(marker, keyword, others):
    """The size that a marker has as its argument, or by the name that pytest-memray gives it."""
    named = {name: value for name, value in marker.kwargs.items() if name not in others}
    given = list(marker.args) + [named.pop(keyword)] if keyword in named else list(marker.args)
    if len(given) != 1 or named:
        wrong = ", ".join(sorted(named)) or f"{len(given)} arguments"
        raise ValueError(f"@pytest.mark.{marker.name} takes one size, such as '24 MB', not {wrong}")
    return given[0]
