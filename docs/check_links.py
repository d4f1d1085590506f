#!/usr/bin/env python3
"""Finds dead links in the documentation: exit code 1 when there is one.

Looks at the pages of docs/ and at all other Markdown files that git knows. A link to a file needs the file, one to
an #anchor needs the heading. A page of docs/ may link to pages of docs/ only, because the site has nothing else, and
has to be in SUMMARY.md. A path in `backticks` that begins with a folder of this repository has to exist. Links to
other hosts are not followed.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\)")
CODE = re.compile(r"(`+)(.+?)\1")
FOLDERS = ("crates/", "docs/", "bench/", "xtask/", "examples/", "fuzz/", ".ci/")
BELOW_CRATES = "ARCHITECTURE.md"


def prose(path):
    """The lines of a page that are neither fenced nor an indented block, with their numbers."""
    fence, last_blank = None, True
    for number, line in enumerate(path.read_text().splitlines(), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and fence is None:
            fence = mark.group(1)
        elif mark and mark.group(1).startswith(fence):
            fence = None
        elif fence is None and not (line.startswith("    ") and last_blank):
            yield number, line
        last_blank = not line.strip() or last_blank and line.startswith("    ")


def slug(heading):
    """The anchor of a heading, as mdBook and GitHub make it."""
    text = LINK.sub(lambda m: re.sub(r"^!?\[|\]\(.*$", "", m.group(0)), heading)
    text = text.strip().strip("#").strip().lower().replace("`", "").replace("*", "")
    return "".join("-" if c in " -" else c for c in text if c.isalnum() or c in " -_")


def anchors(path):
    seen, found = {}, set()
    for _, line in prose(path):
        found.update(re.findall(r"<a (?:id|name)=\"([^\"]+)\"", line))
        heading = re.match(r"#{1,6} (.*)", line)
        if heading:
            name = slug(heading.group(1))
            found.add(f"{name}-{seen[name]}" if name in seen else name)
            seen[name] = seen.get(name, 0) + 1
    return found


def link_problem(page, target):
    """What is wrong with a link of a page, or None."""
    if re.match(r"[a-z]+:", target):
        return None
    file, _, anchor = target.partition("#")
    path = (page.parent / file).resolve() if file else page
    if not path.exists():
        return f"{target}: there is no such file"
    if DOCS in page.parents and DOCS not in path.parents:
        return f"{target}: leads out of docs/, so the site does not have it"
    if anchor and path.suffix == ".md" and anchor not in anchors(path):
        return f"{target}: there is no such heading"
    return None


def path_problem(page, code):
    """What is wrong with a path that a page names, or None."""
    if page.name == BELOW_CRATES and re.fullmatch(r"[a-z-]+/src(/[\w.-]+)*", code):
        code = f"crates/{code}"
    if not code.startswith(FOLDERS) or not re.fullmatch(r"[\w./-]+", code):
        return None
    return None if (ROOT / code).exists() else f"`{code}`: there is no such file"


def problems(page):
    for number, line in prose(page):
        bare = CODE.sub(lambda m: " " * len(m.group(0)), line)
        found = [link_problem(page, m.group(1)) for m in LINK.finditer(line) if bare[m.end() - 1] == ")"]
        found += [path_problem(page, m.group(2)) for m in CODE.finditer(line)]
        yield from (f"{page.relative_to(ROOT)}:{number}: {problem}" for problem in found if problem)


def unlisted(pages):
    summary = DOCS / "SUMMARY.md"
    listed = {(DOCS / m.group(1)).resolve() for m in LINK.finditer(summary.read_text())}
    for page in pages:
        if DOCS in page.parents and page != summary and page not in listed:
            yield f"{page.relative_to(ROOT)}: is not in docs/SUMMARY.md"


def main():
    names = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.split()
    pages = [ROOT / name for name in names if (ROOT / name).exists()]
    found = [problem for page in pages for problem in problems(page)] + list(unlisted(pages))
    print("\n".join(found) if found else f"{len(pages)} pages: no dead link")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
