#!/usr/bin/env python3
#===- doc-examples.py - run the examples in the op descriptions ---*- Python -*-===#
#
# Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# usage: doc-examples.py <source root> <tgpt-opt>
#
# Reads every op and attribute definition (.td) under dialects/ and checks that
#   - each op has a summary that says more than its name, a description, a
#     constraint list and an example;
#   - each op of tgpt, dist and plan has its round-trip test, and an invalid one
#     where it lists constraints that C++ checks;
#   - each example, a fenced mlir block, parses, verifies and prints again as
#     something that parses.
#
# An example is wrapped so that tgpt-opt can read it: declarations go to the module,
# all else into a function, values that it uses but does not define become the
# function's arguments. Their types come from a first line
#   // args: %x: tensor<2x8xf32>, %y: tensor<8xf32>
# or, without one, from the op that uses them.
#
# Prints one line for each fault and ends with status 1 if there was any.
#
#===----------------------------------------------------------------------===#
import os
import re
import subprocess
import sys

DECLARATION = re.compile(r"(tgpt\.(parameter|state)|dist\.(mesh|schedule)|plan\.\w+|module|func\.func)\b")
MESH = "dist.mesh @mesh (dp = 2, pp = 2, tp = 2)"
DIALECTS_WITH_TESTS = ("tgpt", "dist")


class Definition:
    """One `def` of an op or attribute in a .td file."""

    def __init__(self, path, line, body):
        self.path, self.line, self.body = path, line, body
        head = body.split("{", 1)[0]
        mnemonic = re.search(r'<\s*"(\w+)"', head)
        self.is_op = bool(mnemonic) and "Op<" in head.replace("Format<", "Op<")
        self.mnemonic = mnemonic.group(1) if self.is_op else ""
        summary = re.search(r'let summary\s*=\s*((?:"[^"]*"\s*)+);', body)
        self.summary = " ".join(re.findall(r'"([^"]*)"', summary.group(1))) if summary else ""
        description = re.search(r"let description\s*=\s*\[\{(.*?)\}\];", body, re.S)
        self.description = description.group(1) if description else ""
        self.examples = re.findall(r"```mlir\n(.*?)```", self.description, re.S)

    def place(self):
        return f"{self.path}:{self.line}"


def definitions(path, shown):
    """The ops and attributes that a .td file defines."""
    text = open(path, encoding="utf-8").read()
    starts = [m.start() for m in re.finditer(r"^def \w+\s*:", text, re.M)]
    for start, end in zip(starts, starts[1:] + [len(text)]):
        yield Definition(shown, text.count("\n", 0, start) + 1, text[start:end])


def split_top_level(text):
    """Splits at commas outside brackets."""
    parts, depth, current = [], 0, ""
    for previous, char in zip(" " + text, text):
        depth += char in "<([{"
        depth -= char in ")]}" or (char == ">" and previous != "-")
        if char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
        else:
            current += char
    return [part for part in parts + [current.strip()] if part]


def infer_types(statement):
    """Types of the operands of a one-line op `... %a, %b ... : (A, B) -> C` or `: A to B`."""
    statement = statement.split("//")[0]
    left, separator, right = statement.partition(" : ")
    if not separator:
        return {}
    used = re.findall(r"%[\w#]+", left.split(" = ", 1)[-1] if left.lstrip().startswith("%") else left)
    functional = re.match(r"\((.*?)\)\s*->", right)
    types = split_top_level(functional.group(1) if functional else re.split(r" to | -> ", right)[0])
    if len(types) == 1:
        types *= len(used)
    return dict(zip(used, types))


def wrap(example):
    """A module around `example`."""
    lines = example.splitlines()
    if all(line.strip().startswith(("tensor<", "//")) for line in lines if line.strip()):
        return "\n".join([MESH] + [f"func.func private @type{i}({line.strip()})"
                                   for i, line in enumerate(lines) if line.strip().startswith("tensor<")])
    if all(line.strip().startswith(("#", "//")) for line in lines if line.strip()):
        return "\n".join(f"module attributes {{test.attribute = {line.strip()}}} {{}}"
                         for line in lines if line.strip().startswith("#"))
    arguments, module, body, defined = {}, [], [], set()
    depth, in_module = 0, False
    for line in lines:
        declared = re.match(r"\s*// args:(.*)", line)
        if declared:
            for argument in split_top_level(declared.group(1)):
                name, kind = argument.split(":", 1)
                arguments[name.strip()] = kind.strip()
            continue
        if depth == 0:
            in_module = bool(DECLARATION.match(line.strip()))
        (module if in_module else body).append(line)
        depth += line.count("{") - line.count("}")
    explicit = bool(arguments)
    for line in body:
        results = re.match(r"\s*((?:%\w+(?::\d+)?(?:,\s*)?)+)\s*=", line)
        if not explicit:
            for value, kind in infer_types(line).items():
                if value.split("#")[0] not in defined:
                    arguments.setdefault(value, kind)
        if results:
            defined.update(re.findall(r"%\w+", results.group(1)))
        for inner in re.findall(r"\((.*?)\)", line):
            defined.update(re.findall(r"(%\w+)\s*=\s*%", inner))
    if any("dist." in line or "plan." in line for line in lines) and not any("dist.mesh" in line for line in module):
        module.insert(0, MESH)
    if not any(line.strip() for line in body):
        return "\n".join(module)
    signature = ", ".join(f"{name}: {kind}" for name, kind in arguments.items())
    ends_itself = bool(re.match(r"\s*(return|dist\.yield|tgpt\.yield)\b", body[-1]))
    if ends_itself and "yield" in body[-1]:
        kind = "dist.segment forward stage 0" if "dist.yield" in body[-1] else "tgpt.repeat 1 ()"
        types = re.findall(r":\s*(.*)$", body[-1])
        tail = f" : {types[0]}" if types and "dist" in kind else ""
        names = ", ".join(f"%region{i}" for i in range(len(split_top_level(types[0])))) if types else ""
        opening = (f"{names} = " if names else "") + kind
        body = [f"  {opening} {{"] + body + [f"  }}{tail}"]
        ends_itself = False
    return "\n".join(module + [f"func.func @example({signature}) {{"] + body + ([] if ends_itself else ["  return"]) + ["}"])


def run(tool, text):
    done = subprocess.run([tool, "-", "-allow-unregistered-dialect"], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def faults_of_example(tool, example):
    text = wrap(example)
    status, printed, errors = run(tool, text)
    if status:
        return "example is refused: " + errors.strip().splitlines()[0] if errors.strip() else "example is refused"
    status, again, errors = run(tool, printed)
    if status or again != printed:
        return "example does not read back as it prints"
    return None


def faults_of_definition(definition, source, tool):
    faults = []
    dialect = definition.path.split(os.sep)[1]
    if definition.is_op:
        name = f"{dialect}.{definition.mnemonic}"
        if not definition.summary or definition.summary.replace(" ", "_") == definition.mnemonic:
            faults.append(f"{name}: the summary says no more than the name")
        if not definition.description.strip():
            faults.append(f"{name}: no description")
        if not definition.examples:
            faults.append(f"{name}: no example")
        tests = os.path.join(source, "test", dialect, definition.mnemonic.replace("_", "-"))
        has_checks = "let hasVerifier = 1" in definition.body or "- C1" in definition.description
        wanted = ["roundtrip"] + (["invalid"] if has_checks else [])
        wanted += ["canonicalize"] if "let hasCanonicalizer = 1" in definition.body else []
        if dialect in DIALECTS_WITH_TESTS:
            faults += [f"{name}: no {tests[len(source) + 1:]}-{kind}.mlir" for kind in wanted
                       if not os.path.exists(f"{tests}-{kind}.mlir")]
    for number, example in enumerate(definition.examples, 1):
        fault = faults_of_example(tool, example)
        if fault:
            faults.append(f"{definition.mnemonic or 'attribute'}: example {number}: {fault}")
    return [f"{definition.place()}: {fault}" for fault in faults]


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: doc-examples.py <source root> <tgpt-opt>")
    source, tool = os.path.abspath(sys.argv[1]), sys.argv[2]
    faults, ops, examples = [], 0, 0
    for folder, _, files in sorted(os.walk(os.path.join(source, "dialects"))):
        for file in sorted(files):
            if not file.endswith(".td"):
                continue
            path = os.path.join(folder, file)
            for definition in definitions(path, os.path.relpath(path, source)):
                ops += definition.is_op
                examples += len(definition.examples)
                faults += faults_of_definition(definition, source, tool)
    print("\n".join(faults + [f"{ops} ops, {examples} examples, {len(faults)} faults"]))
    sys.exit(1 if faults or not ops or not examples else 0)


if __name__ == "__main__":
    main()
