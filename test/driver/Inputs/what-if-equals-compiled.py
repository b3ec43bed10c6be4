#!/usr/bin/env python3
"""what-if-equals-compiled.py MODEL OUTPUT-FOLDER FLAG ...: compiles a model with --memory-what-if, then each of its
lines by itself, and compares bytes, operations and communication. Prints how many lines were equal."""
import json
import subprocess
import sys


def compiled(model, plan, flags):
    command = ["tgpt-opt", *flags, "--memory-report=json", model, "-o", plan]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def changed(flags, change):
    """The flags with those of a line of the table in their place."""
    if change.startswith("without "):
        return [flag for flag in flags if flag != change.removeprefix("without ")]
    names = [flag.split("=")[0] for flag in change.split()]
    return [flag for flag in flags if flag.split("=")[0] not in names] + change.split()


def main():
    model, plan, flags = sys.argv[1], sys.argv[2] + "/variant.bin", sys.argv[3:]
    table, equal = compiled(model, plan, flags + ["--memory-what-if"])["what_if"], 0
    for line in table[1:]:
        if "refusal" in line:
            done = subprocess.run(["tgpt-opt", *changed(flags, line["change"]), model, "-o", plan], capture_output=True,
                                  text=True, check=False)
            assert done.returncode == 1 and line["refusal"] in done.stderr, (line, done.stderr)
            print(f"refused: {line['change']}")
            continue
        stages = compiled(model, plan, changed(flags, line["change"]))["stages"]
        most = max(stages, key=lambda stage: stage["sent_exposed_bytes"] + stage["sent_overlapped_bytes"])
        expected = {
            "change": line["change"],
            "arena_bytes": max(stage["arena_bytes"] for stage in stages),
            "flops": max(stage["flops"] for stage in stages),
            "sent_exposed_bytes": most["sent_exposed_bytes"],
            "sent_overlapped_bytes": most["sent_overlapped_bytes"],
        }
        assert line == expected, (line, expected)
        equal += 1
    print(f"{equal} lines equal what compiling them gives")


main()
