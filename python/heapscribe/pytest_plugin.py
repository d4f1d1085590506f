"""The plugin for pytest: `pytest --heapscribe` records the tests that have a limit, and fails those over it.

Tests with a marker run in one recorded process of their own, before the first of them would have its turn; here
their reports are shown in their turn, with the verdict. A process can be recorded only from its start on.
"""

import json
import os
import subprocess
import sys
import tempfile

import pytest

from . import program
from .limits import Limits, show_size

#: Names the file with what is to be done, in the process that is recorded.
VARIABLE = "HEAPSCRIBE_PYTEST"

#: A recorded process knows 4,096 names of sections.
MOST_TESTS = 4000
STACKS_SHOWN = 3
FRAMES_SHOWN = 8


def pytest_addoption(parser):
    group = parser.getgroup("heapscribe", "memory of tests")
    group.addoption("--heapscribe", action="store_true", help="record tests with a limit, and fail those over it")
    group.addoption("--heapscribe-to", metavar="DIR", help="keep the traces of --heapscribe in DIR")


def pytest_configure(config):
    config.addinivalue_line(
        "markers", "limit_memory(size): fail when more is live at a time of what the test allocates ('24 MB')"
    )
    config.addinivalue_line(
        "markers", "limit_leaks(size, warmups=0): fail when a stack of the test leaves more than that ('1 MB')"
    )
    todo = os.environ.pop(VARIABLE, None)
    if todo is not None:
        # Tests that start pytest themselves are no part of it, so the variable is gone.
        from .recorded import Recorded

        config.pluginmanager.register(Recorded(config, todo), "heapscribe-recorded")
    elif config.getoption("--heapscribe"):
        config.pluginmanager.register(Recorder(config), "heapscribe-recorder")


class Recorder:
    """The plugin of the process that was started."""

    def __init__(self, config):
        self.config = config
        self.limits = {}
        self.sections = {}
        self.traces = {}
        self.answers = {}
        self.reports = {}
        self.runs = 0
        self.scratch = tempfile.TemporaryDirectory(prefix="heapscribe-pytest-")
        kept = config.getoption("--heapscribe-to")
        self.folder = os.path.abspath(kept) if kept else self.scratch.name
        os.makedirs(self.folder, exist_ok=True)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        for item in items:
            try:
                limits = Limits.of(item)
            except ValueError as e:
                raise pytest.UsageError(f"{item.nodeid}: {e}") from None
            if limits is not None:
                self.limits[item.nodeid] = limits

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        if item.nodeid not in self.limits:
            return None
        if item.nodeid not in self.traces:
            self.record(item)
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        figures = []
        for report in self.reports_of(item):
            if report.when == "call" and report.passed:
                figures = self.judge(item, report)
            # JUnit's XML has what the last report has.
            report.user_properties.extend(figures if report.when != "setup" else [])
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        # What the tests before have set up for this one's module is torn down when its last test was here.
        item.session._setupstate.teardown_exact(nextitem)
        return True

    def record(self, item):
        """Runs the tests that have no reports yet; of xdist, whose worker has its tests one by one, this one."""
        session = [other.nodeid for other in item.session.items if other.nodeid in self.limits]
        open_tests = [nodeid for nodeid in session if nodeid not in self.traces][:MOST_TESTS]
        tests = [item.nodeid] if hasattr(self.config, "workerinput") else open_tests
        self.runs += 1
        worker = os.environ.get("PYTEST_XDIST_WORKER", "")
        trace = os.path.join(self.folder, f"pytest{worker and '-' + worker}-{self.runs}.hst")
        self.sections.update((nodeid, f"test {number}") for number, nodeid in enumerate(tests))
        self.traces.update((nodeid, trace) for nodeid in tests)
        self.failure = self.run(tests, trace)

    def run(self, tests, trace):
        """Runs them recorded; what there is to say if one of them has no report."""
        todo = os.path.join(self.scratch.name, "job.json")
        reports = os.path.join(self.scratch.name, "reports")
        described = {t: {"section": self.sections[t], "warmups": self.limits[t].warmups} for t in tests}
        with open(todo, "w") as file:
            json.dump({"tests": described, "reports": reports}, file)
        open(reports, "w").close()
        command = [program(), "record", "--quiet", "--force", "-o", trace, "--", sys.executable, "-m", "pytest"]
        environment = dict(os.environ, PYTHONMALLOC="malloc", **{VARIABLE: todo})
        for variable in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_CURRENT_TEST"):
            environment.pop(variable, None)
        done = subprocess.run(
            command + self.words(), env=environment, cwd=str(self.config.invocation_params.dir),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        with open(reports) as file:
            for line in file:
                report = self.config.hook.pytest_report_from_serializable(config=self.config, data=json.loads(line))
                self.reports.setdefault(report.nodeid, []).append(report)
        return f"exit code {done.returncode}\n" + done.stdout.decode(errors="replace")

    def words(self):
        """The words of this run, with what must not happen twice turned off."""
        given = self.config.invocation_params.args
        if hasattr(self.config, "workerinput"):
            given = self.config.workerinput["mainargv"][1:]
        words = [str(word) for word in given if str(word) != "--heapscribe"]
        scratch = self.scratch.name
        words += ["--maxfail=0", "-o", f"cache_dir={scratch}/cache", f"--junit-xml={scratch}/junit.xml"]
        if self.config.pluginmanager.hasplugin("xdist"):
            words.append("-n0")
        if self.config.pluginmanager.hasplugin("_cov"):
            words.append("--no-cov")
        return words

    def reports_of(self, item):
        """The reports of a test; what died in the middle of it has failed."""
        reports = self.reports.get(item.nodeid, [])
        is_whole = any(report.when == "teardown" for report in reports)
        return reports if is_whole else reports + [self.lost(item)]

    def lost(self, item):
        """The report of a test of which the recorded process has none."""
        text = f"heapscribe: the recorded process ended without a report of this test: {self.failure}"
        return pytest.TestReport(item.nodeid, item.location, {}, "failed", text, "call")

    def judge(self, item, report):
        """Fails the report of a test that is over a limit, or of which a limit cannot be told; its figures."""
        from .answers import Answers

        limits, name, trace = self.limits[item.nodeid], self.sections[item.nodeid], self.traces[item.nodeid]
        try:
            if trace not in self.answers:
                self.answers[trace] = Answers(trace)
            answers = self.answers[trace]
            section = answers.sections[name]
            # No stack has left more than all of them together.
            is_near = limits.leaks is not None and section.left > limits.leaks
            leaks = [leak for leak in answers.leaks(name) if leak.size > limits.leaks] if is_near else []
        except (RuntimeError, OSError, KeyError, ValueError) as e:
            fail(report, [f"heapscribe cannot tell of this test: {e!r}"])
            return []
        lines = []
        if limits.memory is not None and section.peak > limits.memory:
            over = f"over its limit of {show_size(limits.memory)}"
            lines.append(f"the test had {show_size(section.peak)} at its peak, {over}")
        if leaks:
            lines.append(f"the test left more than {show_size(limits.leaks)} of one stack, of {len(leaks)} in all:")
        for leak in leaks[:STACKS_SHOWN]:
            lines.append(f"  {show_size(leak.size)}")
            lines += [f"    {frame}" for frame in leak.frames[:FRAMES_SHOWN]]
        if not lines and answers.problems:
            lines = ["the limits cannot be told, as the recording is not whole:"] + answers.problems
        if lines:
            fail(report, lines)
        return [("heapscribe_peak_bytes", section.peak), ("heapscribe_left_bytes", section.left)]


def fail(report, lines):
    """Makes it the report of a test that failed."""
    report.outcome = "failed"
    report.longrepr = "\n".join(["heapscribe: " + lines[0], *lines[1:]])
