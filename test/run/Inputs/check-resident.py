"""check-resident.py RECIPES WORK: what runs have resident is within 5% of plan, workspaces and constant.

Of each configuration the arenas are large enough that 5% are more than what generated code differs by between
processors: 60 MiB and more.
"""
import pathlib
import re
import subprocess
import sys

CONFIGURATIONS = [  # model, flags of tgpt-opt, flags of tgpt-run
    ("nano", "--dtype=f32 --micro-batch-samples=64", ""),
    ("nano", "--dtype=f64 --micro-batch-samples=32 --tp=2", ""),
    ("nano", "--dtype=bf16 --micro-batch-samples=128 --tp=2 --sp", ""),
    ("nano-gpt2", "--dtype=f32 --micro-batch-samples=16 --dp=4 --zero=1", ""),
    ("nano", "--dtype=f32 --micro-batch-samples=16 --tp=2 --pp=2 --dp=2 --micro-batches=4", ""),
    ("nano", "--dtype=bf16 --micro-batch-samples=128 --tp=2 --sp", "--launch=spawn"),
    ("nano-gpt2", "--dtype=f32 --micro-batch-samples=16 --dp=4 --zero=1", "--launch=spawn"),
]


def run(*command):
    return subprocess.run(list(map(str, command)), check=True, capture_output=True, text=True).stdout


recipes, work = map(pathlib.Path, sys.argv[1:])
module, plan = work / "resident.mlir", work / "resident.bin"
for model, flags, launch in CONFIGURATIONS:
    run("tgpt-import", recipes / "models" / f"{model}.yaml", "-o", module)
    run("tgpt-opt", "--memory-report=none", *flags.split(), module, "-o", plan)
    out = run("tgpt-run", plan, "--synthetic=1", "--steps=2", *launch.split())
    rows = {key: int(value) for key, value in re.findall(r"^  (planned|together|peak resident|resident).*?  (\d+)(?: |$)", out, re.M)}
    resident = rows.get("peak resident") or rows["resident"]
    difference = resident / rows["together"] - 1
    enough = rows["planned"] >= 60 << 20
    print(f"{'ok' if abs(difference) <= 0.05 and enough else 'WRONG'}: {model} {flags} {launch}: {difference:+.1%}\n{out}")
