#!/usr/bin/env python3
"""Checks that a document shows what tgpt-validate prints.

    check-document.py DOCUMENT TGPT_VALIDATE FOLDER

The block between "```text validation" and "```" must be the output of the summary.
"""
import difflib
import re
import subprocess
import sys


def main():
    document, program, folder = sys.argv[1:4]
    with open(document, encoding="utf-8") as file:
        shown = re.findall(r"```text validation\n(.*?)```", file.read(), re.DOTALL)
    if len(shown) != 1:
        sys.exit(f"{document}: expected one block '```text validation', found {len(shown)}")
    printed = subprocess.run([program, "summary", folder], capture_output=True, text=True, check=False).stdout
    difference = list(difflib.unified_diff(shown[0].splitlines(), printed.splitlines(), document, "tgpt-validate", lineterm=""))
    if difference:
        sys.exit("\n".join(difference))


if __name__ == "__main__":
    main()
