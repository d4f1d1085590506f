#!/usr/bin/env python3
"""Makes the outputs in the documentation from real runs, so that they stay true.

    docs/outputs.py                    rewrites the outputs of all pages
    docs/outputs.py docs/guide/leak.md rewrites those of one page
    docs/outputs.py --check            compares, and changes nothing: exit code 1 when a page differs

A page says with comments what to run. Its commands run in order, in one empty directory that has the programs
of docs/programs; `heapscribe` is the release build of this repository, or what --heapscribe names. $FIXTURES and
$MESSAGES are where the tests have files of other formats.

    <!-- source: leak.c handle_request -->         the fenced block that follows is this function
    <!-- setup: cc -g leak.c -o leak -->           runs, shows nothing
    <!-- run: heapscribe report leak.hst -->       the fenced block that follows is the command and its output
    <!-- run 4: heapscribe check ... -->           the same, and the exit code has to be 4
    <!-- roughly: heapscribe replay ... -->        the same, and --check looks at the lines that are not indented only
    <!-- run: heapscribe report leak.hst => Peak, Leaked -->     of the output only these sections, and ... for the rest

Numbers, times and process ids differ from run to run. So --check compares shapes: the lines with each number and
its unit masked, and without what a diagram draws.
"""
import argparse
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
MARKER = re.compile(r"^<!-- (source|setup|run|roughly)(?: (\d+))?: (.*?)(?: => (.*))? -->$")
UNITS = r"(?: ?(?:B|[KMGT]i?B|bytes?|ns|us|ms|s|min|h|%)\b)?"
SECONDS_MAX = 120


class Wrong(Exception):
    """What is wrong with a page, for people."""


class Runner:
    """A directory for the commands of one page."""

    def __init__(self, heapscribe):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="src."))
        self.groups = []
        programs = ROOT / "docs" / "programs"
        for source in programs.iterdir():
            shutil.copy(source, self.directory)
        path = f"{heapscribe.parent}:{os.environ['PATH']}"
        # Perl's hashes in one order in each run: who holds how much of them is on the first screen.
        self.environment = {**os.environ, "PATH": path, "PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0",
                            "FIXTURES": str(ROOT / "crates/formats/tests/fixtures"),
                            "MESSAGES": str(ROOT / "crates/aos-log/tests/fixtures/aos"), 
                            "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_COLOR": "1"}

    def run(self, command, expected, where):
        """Output and errors of a command, in the order they were written. A file takes them and not a pipe, so that
        a command may leave something running behind it."""
        with tempfile.TemporaryFile("w+") as out:
            child = subprocess.Popen(["bash", "-o", "pipefail", "-c", command], cwd=self.directory, env=self.environment,
                                     stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)
            self.groups.append(child.pid)
            try:
                code = child.wait(SECONDS_MAX)
            except subprocess.TimeoutExpired:
                raise Wrong(f"{where}: `{command}` runs for more than {SECONDS_MAX} s") from None
            out.seek(0)
            text = out.read()
        if code != expected:
            raise Wrong(f"{where}: `{command}` ended with {code}, not {expected}:\n{text}")
        return [line.rstrip().replace(str(self.directory), "/src") for line in text.splitlines()]

    def close(self):
        for group in self.groups:
            try:
                os.killpg(group, signal.SIGTERM)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.directory, ignore_errors=True)


def rewritten(page, heapscribe):
    """The lines of a page, with every output made anew."""
    lines = page.read_text().splitlines()
    done, at, runner = [], 0, Runner(heapscribe)
    try:
        while at < len(lines):
            done.append(lines[at])
            marker = MARKER.match(lines[at])
            at += 1
            if not marker:
                continue
            kind, expected, command, sections = marker.groups()
            where = f"{page.relative_to(ROOT)}:{at}"
            if kind == "source":
                shown = function(command, where)
            else:
                output = runner.run(command, int(expected or 0), where)
                if kind == "setup":
                    continue
                shown = [f"$ {command}", *only(sections, output, where)]
            start, at = at, end_of_block(lines, at, where)
            done += [lines[start], *shown, "```"]
    finally:
        runner.close()
    return done


def function(what, where):
    """The lines of a function of one of the programs, `FILE FUNCTION`."""
    file, name = what.split()
    lines = (ROOT / "docs" / "programs" / file).read_text().splitlines()
    starts = [n for n, line in enumerate(lines) if re.match(rf"\w.*\b{name}\(", line)]
    if not starts:
        raise Wrong(f"{where}: {file} has no function {name}")
    return lines[starts[0] : lines.index("}", starts[0]) + 1]


def only(sections, output, where):
    """The output with some of its sections and `...` for the others. A section begins with a line that is not
    indented, after an empty one."""
    while output and not output[-1]:
        output.pop()
    if not sections:
        return output
    parts = [part.splitlines() for part in re.split(r"\n\n(?=\S)", "\n".join(output))]
    wanted = [any(part[0].startswith(name.strip()) for name in sections.split(",")) for part in parts]
    if not any(wanted):
        raise Wrong(f"{where}: the output has no section {sections}")
    shown = []
    for part, want in zip(parts, wanted):
        if want:
            shown += part + [""]
        elif shown[-1:] != ["..."]:
            shown += ["..."]
    return shown[:-1] if not shown[-1] else shown


def end_of_block(lines, at, where):
    """The line behind the fenced block that starts at a line."""
    if at >= len(lines) or not lines[at].startswith("```"):
        raise Wrong(f"{where}: no fenced block follows the marker")
    for end in range(at + 1, len(lines)):
        if lines[end] == "```":
            return end + 1
    raise Wrong(f"{where}: the fenced block has no end")


def shapes(lines):
    """The lines of a page without what may differ."""
    is_rough, is_fenced = False, False
    for line in lines:
        marker = MARKER.match(line)
        if marker:
            is_rough = marker.group(1) == "roughly"
        is_fenced ^= line.startswith("```")
        if not (is_rough and is_fenced and line.startswith(" ")):
            yield shape(line)


def shape(line):
    """A line without numbers and their units, diagrams, and how far it is indented."""
    line = re.sub(r"\|[#o ]+$", "|", line)
    line = re.sub(r"[▁▂▃▄▅▆▇█]+", "", line)
    line = re.sub(r" #+$", "", line)
    line = re.sub(r"\b0x[0-9a-f]+\b", "#", line)
    line = re.sub(r"\d[\d,.]*" + UNITS, "#", line)
    return re.sub(r"\s+", " ", line).strip()


def differences(page, before, after):
    name = str(page.relative_to(ROOT))
    return list(difflib.unified_diff(list(shapes(before)), list(shapes(after)), name, f"{name}, run again",
                                     lineterm="", n=1))


def pages(named):
    if named:
        return [pathlib.Path(name).resolve() for name in named]
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if any(MARKER.match(line) for line in page.read_text().splitlines())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare shapes and change nothing")
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    parser.add_argument("--heapscribe", type=pathlib.Path, default=target / "release" / "heapscribe")
    parser.add_argument("pages", nargs="*", help="pages [default: all that have outputs]")
    args = parser.parse_args()
    if not args.heapscribe.exists():
        sys.exit(f"error: {args.heapscribe} is not there\n hint: cargo build --release -p heapscribe")
    failed = 0
    for page in pages(args.pages):
        try:
            before, after = page.read_text().splitlines(), rewritten(page, args.heapscribe.resolve())
        except Wrong as wrong:
            print(wrong, file=sys.stderr)
            failed += 1
            continue
        if args.check:
            found = differences(page, before, after)
            failed += bool(found)
            print("\n".join(found) if found else f"{page.relative_to(ROOT)}: as it is")
        else:
            page.write_text("\n".join(after) + "\n")
            print(f"{page.relative_to(ROOT)}: written")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
