"""The plugin, in runs of pytest of its own; what tests allocate is known here to the byte."""

import importlib.metadata
import re

import pytest

pytest_plugins = ["pytester"]

TESTS = """
    import pytest
    left = []

    @pytest.mark.limit_memory("4 MB")
    def test_below():
        assert len(bytearray(3 << 20)) == 3 << 20

    @pytest.mark.limit_memory("4 MB")
    def test_above():
        bytearray(5 << 20)

    @pytest.mark.limit_memory("4 MB")
    def test_one_after_the_other():
        for _ in range(5):
            bytearray(3 << 20)

    @pytest.mark.limit_leaks("1 MB")
    def test_leaves():
        left.append(bytearray(2 << 20))

    @pytest.mark.limit_leaks("1 MB")
    def test_leaves_nothing():
        bytearray(2 << 20)

    @pytest.mark.limit_memory("1 GB")
    def test_fails():
        assert 1 == 2

    def test_without_a_limit():
        bytearray(50 << 20)
"""


@pytest.fixture(autouse=True)
def environment(pytester, monkeypatch):
    # Where the package is only in PYTHONPATH, nothing tells pytest of its plugin.
    is_installed = any(of.metadata["Name"] == "heapscribe" for of in importlib.metadata.distributions())
    monkeypatch.setenv("PYTEST_ADDOPTS", "" if is_installed else "-p heapscribe.pytest_plugin")


def outcomes(result):
    """Passed and failed tests."""
    counts = result.parseoutcomes()
    return counts.get("passed", 0), counts.get("failed", 0)


def test_without_the_option_markers_do_nothing(pytester):
    pytester.makepyfile(TESTS)
    assert outcomes(pytester.runpytest_subprocess("--strict-markers")) == (6, 1)


def test_limits(pytester):
    pytester.makepyfile(TESTS)
    result = pytester.runpytest_subprocess("--heapscribe", "-v", "--junitxml=out.xml")
    assert outcomes(result) == (4, 3)
    result.stdout.fnmatch_lines(["*::test_below PASSED*", "*::test_above FAILED*", "*::test_without_a_limit PASSED*"])
    text = result.stdout.str()
    assert "over its limit of 4,194,304 bytes (4 MiB)" in text
    assert "the test left more than 1,048,576 bytes (1 MiB) of one stack" in text
    assert "test_leaves " in text and "assert 1 == 2" in text
    junit = (pytester.path / "out.xml").read_text()
    assert 'tests="7"' in junit and "heapscribe_peak_bytes" in junit


def test_figures_are_those_of_the_test(pytester):
    pytester.makepyfile(TESTS)
    pytester.makeconftest(
        """
        def pytest_runtest_logreport(report):
            for name, value in report.user_properties:
                print(report.when, report.nodeid.split("::")[1], name, value)
        """
    )
    result = pytester.runpytest_subprocess("--heapscribe", "-s", "-k", "below or one_after or leaves")
    figures = {}
    for line in result.stdout.lines:
        said = re.search(r"call (test_\w+) (heapscribe_\w+) (\d+)$", line)
        if said:
            figures[said[1], said[2]] = int(said[3])
    slack = 64 << 10
    for test, name, size in [
        ("test_below", "heapscribe_peak_bytes", 3 << 20),
        ("test_one_after_the_other", "heapscribe_peak_bytes", 3 << 20),
        ("test_leaves", "heapscribe_left_bytes", 2 << 20),
        ("test_leaves_nothing", "heapscribe_left_bytes", 0),
    ]:
        assert size <= figures[test, name] < size + slack, (test, figures)


def test_fixtures_of_both_processes_are_torn_down(pytester):
    pytester.makepyfile(
        test_a="""
        import pytest
        @pytest.fixture(scope="module")
        def thing():
            yield 1
            print("torn down")
        def test_first(thing): pass
        @pytest.mark.limit_memory("1 MB")
        def test_second(thing): assert thing == 1
        """,
        test_b="def test_third(): pass",
    )
    result = pytester.runpytest_subprocess("--heapscribe", "-s")
    assert outcomes(result) == (3, 0)
    assert result.stdout.str().count("torn down") == 1


def test_a_process_that_dies_fails_its_tests(pytester):
    pytester.makepyfile(
        """
        import os, pytest
        @pytest.mark.limit_memory("1 MB")
        def test_dies(): os._exit(7)
        @pytest.mark.limit_memory("1 MB")
        def test_after(): pass
        """
    )
    result = pytester.runpytest_subprocess("--heapscribe")
    assert outcomes(result) == (0, 2)
    result.stdout.fnmatch_lines(["*without a report of this test: exit code 7*"])


def test_a_marker_that_cannot_be_read_is_an_error(pytester):
    pytester.makepyfile("import pytest\n@pytest.mark.limit_memory(24)\ndef test_x(): pass")
    result = pytester.runpytest_subprocess("--heapscribe")
    assert result.ret == 4
    result.stderr.fnmatch_lines(["*test_x: 24 is not a size; write for example '24 MB'*"])


def test_traces_are_kept_where_one_asks(pytester):
    pytester.makepyfile(TESTS)
    pytester.runpytest_subprocess("--heapscribe", "--heapscribe-to=traces", "-k", "below")
    assert [path.name for path in (pytester.path / "traces").glob("*.hst")] == ["pytest-1.hst"]


def test_with_xdist(pytester):
    pytest.importorskip("xdist")
    pytester.makepyfile(TESTS)
    assert outcomes(pytester.runpytest_subprocess("--heapscribe", "-n2")) == (4, 3)
