#!/usr/bin/env python3
"""Reads what `ptxas -v` says (scripts/ptxas-report.sh) and prints a line for each kernel.

    ptxas-report.py text|markdown LOG
"""
import re
import subprocess
import sys
from collections import defaultdict


def demangle(names):
    text = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout
    return dict(zip(names, text.splitlines()))


def short(name):
    """`attend<BFloat16, 2>` from the whole signature."""
    name = re.sub(r"tgpt::runtime::(cuda::device::)?|\(anonymous namespace\)::|void ", "", name)
    depth = 0
    for i, letter in enumerate(name):
        depth += {"<": 1, ">": -1}.get(letter, 0)
        if letter == "(" and depth == 0 and not name.startswith("(int)", i):
            return re.sub(r"\((int|bool)\)", "", name[:i])
    return name


def read(path):
    """(architecture, file, mangled name) -> facts."""
    facts, file, kernel = {}, None, None
    for line in open(path):
        if line.startswith("tgpt: "):
            file = line.split()[1]
        elif match := re.search(r"Compiling entry function '(\w+)' for 'sm_(\w+)'", line):
            kernel = (match.group(2), file, match.group(1))
            facts[kernel] = {"registers": 0, "stack": 0, "spilled": 0, "shared": 0}
        elif kernel and (match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores", line)):
            facts[kernel].update(stack=int(match.group(1)), spilled=int(match.group(2)))
        elif kernel and (match := re.search(r"Used (\d+) registers", line)):
            shared = re.search(r"(\d+) bytes smem", line)
            facts[kernel].update(registers=int(match.group(1)), shared=int(shared.group(1)) if shared else 0)
    return facts


def print_text(facts, names):
    print(f"{'arch':5} {'registers':>9} {'spilled':>7} {'stack':>6} {'shared':>6}  kernel")
    for (architecture, file, kernel), f in facts.items():
        mark = "  SPILLS" if f["spilled"] else ""
        print(f"{architecture:5} {f['registers']:9} {f['spilled']:7} {f['stack']:6} {f['shared']:6}  "
              f"{file}: {short(names[kernel])}{mark}")


def print_markdown(facts, names):
    architectures = list(dict.fromkeys(key[0] for key in facts))
    most = defaultdict(lambda: {a: {"registers": 0, "stack": 0, "spilled": 0, "shared": 0} for a in architectures})
    variants = defaultdict(set)
    for (architecture, file, kernel), f in facts.items():
        # Element kernels are one template over operations: the operation is their name.
        base = re.sub(r"^applyToElements<\d+, ?(\w+).*", r"\1", short(names[kernel])).split("<")[0]
        variants[file, base].add(kernel)
        row = most[file, base][architecture]
        for fact, value in f.items():
            row[fact] = max(row[fact], value)
    print("| file | kernel | variants | " + " | ".join(f"sm_{a} registers / spilled / stack / shared"
                                                      for a in architectures) + " |")
    print("|---|---|---|" + "---|" * len(architectures))
    for key, row in most.items():
        cells = [f"{f['registers']} / {f['spilled']} / {f['stack']} / {f['shared']}" for f in row.values()]
        print(f"| {key[0]} | {key[1]} | {len(variants[key])} | " + " | ".join(cells) + " |")


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("text", "markdown"):
        sys.exit(__doc__)
    facts = read(sys.argv[2])
    names = demangle(sorted({key[2] for key in facts}))
    (print_text if sys.argv[1] == "text" else print_markdown)(facts, names)
    spilling = sum(1 for f in facts.values() if f["spilled"])
    print(f"{'' if sys.argv[1] == 'text' else chr(10)}{len(facts)} kernels, {spilling} spill")
    return 1 if spilling else 0


if __name__ == "__main__":
    sys.exit(main())
