"""Sizes and markers."""

import pytest

from heapscribe.limits import parse_size, show_size


@pytest.mark.parametrize(
    "text, size", [("24 MB", 24 << 20), ("1KB", 1024), ("0 B", 0), ("1.5 GiB", 3 << 29), (" 7 B ", 7)]
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "24", "MB", "-1 MB", "1 XB", "nan MB", 24, None])
def test_what_is_no_size(text):
    with pytest.raises(ValueError):
        parse_size(text)


def test_sizes_are_shown_exactly():
    assert show_size(7) == "7 bytes"
    assert show_size(24 << 20) == "25,165,824 bytes (24 MiB)"
    assert show_size(1023 << 10) == "1,047,552 bytes (1023 KiB)"
