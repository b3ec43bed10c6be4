#!/usr/bin/env python3
"""Sums up the JUnit reports of ctest, counting the cases inside each test program.

Usage: count-tests.py REPORT.xml ...

Prints the failed programs and, last, "N passed, N failed". Exit status 1 when
anything failed or nothing ran.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

# How the test programs close: GoogleTest and lit.
PASSED = [re.compile(r"\[  PASSED  \] (\d+) tests?"), re.compile(r"^\s*Passed\s*:\s*(\d+)", re.M)]
FAILED = [
    re.compile(r"\[  FAILED  \] (\d+) tests?, listed below"),
    re.compile(r"^\s*(?:Failed|Unresolved|Timed Out|Unexpectedly Passed)\s*:\s*(\d+)", re.M),
]


def count(patterns, text):
    return sum(int(match) for pattern in patterns for match in pattern.findall(text))


def main(paths):
    passed = failed = 0
    for path in paths:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            output = case.findtext("system-out") or ""
            program_failed = case.get("status") != "run"
            passed += count(PASSED, output) or (0 if program_failed else 1)
            if program_failed:
                failed += count(FAILED, output) or 1
                print(f"failed: {case.get('name')} ({path})")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
