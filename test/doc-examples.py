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
#   - each op has a summary that says more than its name, a description and an
#     example;
#   - each op occurs in a round-trip test of its dialect, in a test of refusals where
#     its description lists constraints, and in a canonicalize test where it has one;
#   - each example, a fenced mlir block, parses, verifies and prints again as
#     something that prints the same.
#
# An example is wrapped so that tgpt-opt can read it: declarations go to the module,
# all else into a function, values that it uses but does not define become the
# function's arguments. Their types come from a first line
#   // args: %x: tensor<2x8xf32>, %y: tensor<8xf32>
# or, without one, from the op that uses them. An op that may only stand inside
# another one is parsed but not verified.
#
# Prints one line for each fault and ends with status 1 if there was any.
#
#===----------------------------------------------------------------------===#
import glob
import os
import re
import subprocess
import sys

DECLARATION = re.compile(r"(tgpt\.(parameter|state|bucket)|dist\.(mesh|schedule)|plan\.\w+|module|func\.func)\b")
MESH = "dist.mesh @mesh (dp = 2, pp = 2, tp = 2)"
SYNTAX_ONLY = ["--mlir-very-unsafe-disable-verifier-on-parsing", "--verify-each=0", "--mlir-print-op-generic"]


class Definition:
    """One `def` of an op or attribute in a .td file."""

    def __init__(self, path, line, body, text):
        self.path, self.line, self.body = path, line, body
        head = body.split("{", 1)[0]
        op = re.match(r'def \w+Op\s*:\s*(\w+)<\s*"(\w+)"', head)
        self.is_op = bool(op)
        self.mnemonic = op.group(2) if op else ""
        base = re.search(rf"^class {op.group(1)}\b[^{{;]*", text, re.M) if op else None
        self.is_nested = any(parent in head + (base.group(0) if base else "") for parent in ("HasParent<", "ParentOneOf<"))
        summary = re.search(r'let summary\s*=\s*((?:"[^"]*"\s*)+);', body)
        self.summary = " ".join(re.findall(r'"([^"]*)"', summary.group(1))) if summary else ""
        description = re.search(r"let description\s*=\s*\[\{(.*?)\}\];", body, re.S)
        self.description = description.group(1) if description else ""
        self.examples = re.findall(r"```mlir\n(.*?)```", self.description, re.S)


def definitions(path, shown):
    """The ops and attributes that a .td file defines."""
    text = open(path, encoding="utf-8").read()
    starts = [m.start() for m in re.finditer(r"^def \w+\s*:", text, re.M)]
    for start, end in zip(starts, starts[1:] + [len(text)]):
        yield Definition(shown, text.count("\n", 0, start) + 1, text[start:end], text)


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


def types_of(statement):
    """The text after the last ` : ` outside brackets, and what stands before it."""
    depth, colon = 0, -1
    for i, char in enumerate(statement):
        depth += char in "<([{"
        depth -= char in ")]}" or (char == ">" and statement[i - 1] != "-")
        if depth == 0 and statement.startswith(" : ", i):
            colon = i
    return (statement[:colon], statement[colon + 3:]) if colon >= 0 else (statement, "")


def infer_types(statement):
    """Types of the operands of a one-line op `... %a, %b ... : (A, B) -> C` or `: A to B`."""
    left, right = types_of(statement.split("//")[0].rstrip().rstrip("{").rstrip())
    if re.match(r"\s*%[\w:, %]+=", left):
        left = left.split("=", 1)[1]
    used = re.findall(r"%[\w#]+", left)
    functional = re.match(r"\((.*)\)\s*->\s*(.*)$", right)
    if functional:
        types = split_top_level(functional.group(1)) + split_top_level(functional.group(2).strip("()"))
    else:
        types = split_top_level(right.replace(" to ", ", "))
        types *= len(used) if len(types) == 1 else 1
    return dict(zip(used, types))


def wrap_attributes(example):
    """A module with the types or attributes that an example lists, or None."""
    lines = [line.strip() for line in example.splitlines() if line.strip() and not line.strip().startswith("//")]
    if all(line.startswith(("tensor<", "!")) for line in lines):
        return "\n".join([MESH] + [f"func.func private @type{i}({line})" for i, line in enumerate(lines)])
    if all(line.startswith("#") for line in lines):
        return "\n".join(f"module attributes {{test.attribute = {line}}} {{}}" for line in lines)
    return None


def statements(example):
    """The lines of an example grouped into top-level statements, without the `args` line."""
    depth, current = 0, []
    for line in example.splitlines():
        if not line.strip() or re.match(r"\s*//", line):
            continue
        current.append(line)
        depth += line.count("{") - line.count("}")
        if depth == 0:
            yield current
            current = []
    if current:
        yield current


def argument_types(example, body):
    """The function arguments that an example needs."""
    declared = re.search(r"// args:(.*)", example)
    if declared:
        return dict(tuple(part.strip() for part in argument.split(":", 1)) for argument in split_top_level(declared.group(1)))
    arguments, defined = {}, set()
    for line in body:
        for value, kind in infer_types(line).items():
            if value.split("#")[0] not in defined:
                arguments.setdefault(value, kind)
        results = re.match(r"\s*((?:%\w+(?::\d+)?(?:,\s*)?)+)\s*=", line)
        defined.update(re.findall(r"%\w+", results.group(1)) if results else [])
    return arguments


def wrap(example, is_nested):
    """A module around `example`."""
    attributes = wrap_attributes(example)
    if attributes:
        return attributes
    module, body = [], []
    for statement in statements(example):
        in_module = DECLARATION.match(statement[0].strip()) and not is_nested
        (module if in_module else body).extend(statement)
    if "dist." in example and "dist.mesh" not in example:
        module.insert(0, MESH)
    if not body:
        return "\n".join(module)
    signature = ", ".join(f"{name}: {kind}" for name, kind in argument_types(example, body).items())
    return "\n".join(module + [f"func.func @example({signature}) {{"] + body + ["  return", "}"])


def run(tool, text, flags):
    done = subprocess.run([tool, "-", "-allow-unregistered-dialect"] + flags, input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, (done.stderr.strip().splitlines() or ["no message"])[0]


def fault_of_example(tool, example, is_nested):
    flags = SYNTAX_ONLY if is_nested else []
    status, printed, error = run(tool, wrap(example, is_nested), flags)
    if status:
        return "is refused: " + error
    status, again, error = run(tool, printed, flags)
    if status:
        return "is refused as it prints: " + error
    return "does not print the same twice" if again != printed else None


def occurs_in_tests(definition, dialect, source, kind):
    name = re.compile(rf"\b{dialect}\.{definition.mnemonic}\b(?!\w)")
    return any(name.search(open(path, encoding="utf-8").read())
               for path in glob.glob(os.path.join(source, "test", dialect, f"*{kind}*.mlir")))


def faults_of_op(definition, dialect, source):
    if not definition.summary or definition.summary.replace(" ", "_") == definition.mnemonic:
        yield "the summary says no more than the name"
    if not definition.description.strip():
        yield "no description"
    if not definition.examples:
        yield "no example"
    wanted = ["roundtrip"] + (["invalid"] if "- C1" in definition.description else [])
    wanted += ["canonicalize"] if "let hasCanonicalizer = 1" in definition.body else []
    for kind in wanted:
        if not occurs_in_tests(definition, dialect, source, kind):
            yield f"no {kind} test in test/{dialect}"


def faults_of_definition(definition, source, tool):
    dialect = definition.path.split(os.sep)[1]
    faults = list(faults_of_op(definition, dialect, source)) if definition.is_op else []
    for number, example in enumerate(definition.examples, 1):
        fault = fault_of_example(tool, example, definition.is_nested)
        faults += [f"example {number} {fault}"] if fault else []
    name = f"{dialect}.{definition.mnemonic}: " if definition.is_op else ""
    return [f"{definition.path}:{definition.line}: {name}{fault}" for fault in faults]


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
