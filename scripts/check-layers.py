#!/usr/bin/env python3
"""Checks the direction of includes between the rooms (docs/architecture.md).

    tools -> compiler -> passes -> dialects;  tools -> runtime;
    compiler and runtime share only runtime/plan, runtime/sim and cost.

No file in cost/ or runtime/ includes LLVM or MLIR; none in dialects/ or passes/ includes
CUDA or the runtime. Prints each violation as file:line; exit status 1 on any.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
SOURCES = {".h", ".cpp", ".cu", ".cuh", ".td", ".inc"}

# room -> the rooms it may include
ROOMS = {
    "cost": {"cost"},
    "dialects": {"dialects", "cost"},
    "passes": {"passes", "dialects", "cost"},
    "compiler": {"compiler", "passes", "dialects", "runtime/plan", "runtime/sim", "cost"},
    "runtime": {"runtime", "cost"},
    "validation": {"validation", "cost"},
    "tools": {"tools", "compiler", "passes", "dialects", "runtime", "cost"},
}
FORBIDDEN = {
    "cost": re.compile(r"^(mlir|llvm)(/|-c/)|^google/protobuf/|^(cuda|cublas|nccl|cudnn)"),
    "runtime": re.compile(r"^(mlir|llvm)(/|-c/)"),
    "dialects": re.compile(r"^(cuda|cublas|nccl|cudnn)"),
    "passes": re.compile(r"^(cuda|cublas|nccl|cudnn)"),
    "compiler": re.compile(r"^(cuda|cublas|nccl|cudnn)"),
}
# Rooms of plain C++ inside the compiler: no IR in them.
PLAIN = ["compiler/driver", "compiler/ledger", "compiler/search"]
IR = re.compile(r"^(mlir/|llvm/|dialects/|passes/)")


def allowed(room, path):
    top = path.split("/")[0]
    if top not in ROOMS:
        return True
    return any(path == other or path.startswith(other + "/") for other in ROOMS[room])


def check(file):
    relative = file.relative_to(ROOT).as_posix()
    room = relative.split("/")[0]
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        path = match.group(1)
        if room in FORBIDDEN and FORBIDDEN[room].match(path):
            yield f"{relative}:{number}: {room}/ must not include <{path}>"
        elif not allowed(room, path):
            yield f"{relative}:{number}: {room}/ must not include {path.split('/')[0]}/ ({path})"
        elif any(relative.startswith(plain + "/") for plain in PLAIN) and IR.match(path):
            yield f"{relative}:{number}: plain C++ must not include IR ({path})"


def main():
    violations, files = [], 0
    for room in ROOMS:
        for file in sorted((ROOT / room).rglob("*")):
            if file.suffix in SOURCES:
                files += 1
                violations.extend(check(file))
    for violation in violations:
        print(violation)
    print(f"layers: {files} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
