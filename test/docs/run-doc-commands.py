#!/usr/bin/env python3
"""Runs the commands that the documentation shows, and compares what it shows of their output.

Usage: run-doc-commands.py <source root> <folder of the tools> PAGE.md ...

A block marked ```sh is run by bash, each page's blocks in order in a folder of the page's own, with the tools on
PATH and the repository's recipes/ at hand. Blocks without that mark are only read by people. Every block must
succeed, but for one whose first line ends in `# fails`, which must exit with 1.

A block marked ```text right after it is (part of) its output: its lines occur in that order, with anything between
them. In a line, `...` stands for any text, spaces do not count, numbers with a fraction may differ by 5 percent
(kernels differ by processor), and speeds and times are not compared.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT_SECONDS = 120  # a block; an AddressSanitizer build is slow
RELATIVE = 0.05

VOLATILE = [(re.compile(pattern), replacement) for pattern, replacement in (
    (r"[\d.]+[kMG]? tokens/s", "N tokens/s"),
    (r"[\d.]+% of GEMM peak", "N% of GEMM peak"),
    (r"\b(\d+h)?(\d+m)?\d+s left", "Ns left"),
    (r"\d+ Gflop/s a core, \d+ in use", "N Gflop/s a core, N in use"),
)]
FRACTION = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?")


class Block:
    """One ```sh block of a page and what the page shows of its output."""

    def __init__(self, page, line, commands):
        self.page, self.line, self.commands = page, line, commands
        self.shown = []
        self.fails = commands.splitlines()[0].rstrip().endswith("# fails")

    def where(self):
        return f"{self.page}:{self.line}"


def blocks_of(path, shown_as):
    """The ```sh blocks of a page; a ```text block belongs to the ```sh block right before it."""
    blocks, fence, body, previous = [], None, [], None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if fence is None:
            if line.startswith("```"):
                fence, body, start = line[3:].strip(), [], number
            elif line.strip():
                previous = None  # prose in between: a text block after it is no output
            continue
        if line.rstrip() != "```":
            body.append(line)
            continue
        if fence == "sh":
            previous = Block(shown_as, start, "\n".join(body))
            blocks.append(previous)
        elif fence == "text" and previous:
            previous.shown, previous = [text for text in body if text.strip() not in ("", "...")], None
        fence = None
    if fence is not None:
        sys.exit(f"{shown_as}: the block of line {start} has no end")
    return blocks


def settled(line):
    """A line without what changes from run to run."""
    for pattern, replacement in VOLATILE:
        line = pattern.sub(replacement, line)
    return " ".join(line.split())


def matches(shown, printed):
    """Whether a printed line is the shown one."""
    shown, printed = settled(shown), settled(printed)
    parts = [FRACTION.split(part) for part in shown.split("...")]
    pattern = ".*".join(rf"({FRACTION.pattern})".join(map(re.escape, part)) for part in parts)
    found = re.fullmatch(pattern, printed)
    if not found:
        return False
    pairs = zip(map(float, FRACTION.findall(shown)), map(float, found.groups()))
    return all(abs(expected - actual) <= RELATIVE * abs(expected) for expected, actual in pairs)


def first_missing(shown, printed):
    """The first shown line that the output does not have, in order; None when it has all."""
    lines = iter(printed.splitlines())
    return next((text for text in shown if not any(matches(text, line) for line in lines)), None)


def fault_of(block, folder, environment):
    command = ["bash", "-euo", "pipefail", "-c", block.commands]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"took longer than {LIMIT_SECONDS} s"
    if done.returncode != (1 if block.fails else 0):
        return f"exit status {done.returncode}, its output ends in\n" + "\n".join(done.stdout.splitlines()[-12:])
    missing = first_missing(block.shown, done.stdout)
    if missing is None:
        return None
    nearest = difflib.get_close_matches(missing, done.stdout.splitlines(), n=3, cutoff=0.3)
    return "\n".join(["the output does not have, in the order shown, the line", missing, "it is nearest to"] + nearest)


def faults_of_page(page, source, environment):
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "recipes").symlink_to(source / "recipes")
        blocks = blocks_of(source / page, page)
        for block in blocks:
            fault = fault_of(block, folder, environment)
            if fault:  # later blocks need what this one makes
                return len(blocks), f"{block.where()}: {fault}"
        return len(blocks), None


def main():
    if len(sys.argv) < 4:
        sys.exit("usage: run-doc-commands.py <source root> <folder of the tools> PAGE.md ...")
    source, tools, pages = pathlib.Path(sys.argv[1]).resolve(), os.path.abspath(sys.argv[2]), sys.argv[3:]
    environment = dict(os.environ, PATH=tools + os.pathsep + os.environ["PATH"])
    total, faults = 0, []
    for page in pages:
        count, fault = faults_of_page(page, source, environment)
        total += count
        faults += [fault] if fault else []
    print("\n".join(faults + [f"{len(pages)} pages, {total} blocks of commands, {len(faults)} faults"]))
    sys.exit(1 if faults or not total else 0)


if __name__ == "__main__":
    main()
