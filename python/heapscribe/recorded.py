"""The process that is recorded: it runs the tests that the first one names, each in a section of its own, and writes
down their reports."""

import ctypes
import gc
import json

import pytest

class Recorded:
    """The plugin of that process."""

    def __init__(self, config, path):
        with open(path) as file:
            job = json.load(file)
        self.config = config
        self.tests = job["tests"]
        self.reports = open(job["reports"], "w")
        library = ctypes.CDLL(None)
        self.begin, self.end = library.heapscribe_api_section_begin, library.heapscribe_api_section_end

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config, items):
        deselected = [item for item in items if item.nodeid not in self.tests]
        items[:] = [item for item in items if item.nodeid in self.tests]
        config.hook.pytest_deselected(items=deselected)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item):
        test = self.tests[item.nodeid]
        for _ in range(test["warmups"]):
            item.runtest()
        name = test["section"].encode()
        gc.collect()
        self.begin(name)
        yield
        gc.collect()
        self.end(name)

    def pytest_runtest_logreport(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        self.reports.write(json.dumps(data) + "\n")
        self.reports.flush()
