#!/usr/bin/env python3
"""bench-table.py BIN WORK STEPS: runs what scripts/bench.sh measures and prints it in Markdown.

Speed is that of the best step. A busy machine slows every step, so on one thread the share of the
GEMM peak is given by CPU time as well: the mean over all steps, the slow first one included. With
more threads the profile knows the CPU time of one of them only.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import time

RESIDENT = [
    ("nano", []),
    ("nano", ["--tp=4"]),
    ("pretrain-tiny", []),
    ("pretrain-tiny", ["--dtype=bf16"]),
    ("pretrain-tiny", ["--tp=2", "--sp"]),
    ("pretrain-tiny", ["--pp=2", "--micro-batches=2", "--micro-batch-samples=4"]),
    ("pretrain-tiny", ["--dp=2", "--zero=3", "--recompute=full"]),
]
PARTS = ["GEMM", "attention", "norms", "loss", "optimizer", "communication", "other"]
LARGE = ["--tp=8", "--pp=16", "--dp=8", "--sp", "--micro-batches=32", "--dtype=bf16"]


def measured(command, log):
    """Runs a command; its wall seconds, user seconds and peak memory in MiB."""
    start = time.monotonic()
    with open(log, "w", encoding="utf-8") as out:
        process = subprocess.Popen([str(word) for word in command], stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{pathlib.Path(log).read_text(encoding='utf-8')}")
    return time.monotonic() - start, usage.ru_utime, usage.ru_maxrss / 1024


def part_milliseconds(log):
    """{part: (wall, CPU) milliseconds a step} of a profile; parts start at the first column."""
    rows = re.findall(r"^(\w+) +([\d.]+) +[\d.]+ +([\d.]+) ", log, re.MULTILINE)
    return {part: (float(wall), float(cpu)) for part, wall, cpu in rows if part in PARTS}


def train(binaries, work, dtype, threads, steps):
    """One run of pretrain-tiny; a row of the table. `dtype` is the plan's name."""
    name = work / f"{dtype}-{threads}"
    command = [binaries / "tgpt-run", work / f"{dtype}.bin", "--synthetic=1", f"--steps={steps}", "--profile"]
    command += [f"--threads={threads}", f"--metrics={name}.jsonl", f"--log-every={steps}"]
    _, _, peak_memory = measured(command, f"{name}.log")
    log = pathlib.Path(f"{name}.log").read_text(encoding="utf-8")
    best = max(
        map(json.loads, pathlib.Path(f"{name}.jsonl").read_text(encoding="utf-8").splitlines()),
        key=lambda step: step["tokens_per_second"],
    )
    parts = part_milliseconds(log)
    cpu_seconds = sum(cpu for _, cpu in parts.values()) / 1e3
    return {
        "dtype": dtype,
        "threads": threads,
        "speed": best["tokens_per_second"],
        "share": best["flops_share"],
        "cpu_share": best["flops_share"] * best["step_seconds"] / cpu_seconds if threads == 1 else None,
        "parts": parts,
        "arena": int(re.search(r"^  rank 0 .*?(\d+) +\d+$", log, re.MULTILINE).group(1)) / 2**20,
        "memory": peak_memory,
    }


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_training(runs):
    base = runs[0]["speed"]
    print_table(
        ["plan", "threads", "tokens/s", "x f32, 1 thread", "of GEMM peak", "by CPU time", "arena MiB", "peak RSS MiB"],
        [
            [
                run["dtype"],
                str(run["threads"]),
                f"{run['speed']:.0f}",
                f"{run['speed'] / base:.2f}",
                f"{run['share']:.0%}",
                f"{run['cpu_share']:.0%}" if run["cpu_share"] else "",
                f"{run['arena']:.0f}",
                f"{run['memory']:.0f}",
            ]
            for run in runs
        ],
    )
    rows = []
    for run in runs:
        total = sum(wall for wall, _ in run["parts"].values())
        shares = [f"{run['parts'].get(part, (0, 0))[0] / total:.1%}" for part in PARTS]
        rows.append([run["dtype"], str(run["threads"]), *shares])
    print_table(["share of a step", "threads", *PARTS], rows)


def resident(binaries, work, model, flags):
    """A row: what a run is expected to take, and the most memory that its process had while it trained."""
    plan = work / "resident.bin"
    measured([binaries / "tgpt-import", work.parent.parent / "recipes" / "models" / f"{model}.yaml", "-o", work / "resident.mlir"], work / "log")
    measured([binaries / "tgpt-opt", "--memory-report=none", *flags, work / "resident.mlir", "-o", plan], work / "log")
    measured([binaries / "tgpt-run", plan, "--synthetic=1", "--steps=2", "--threads=1"], work / "resident.log")
    log = (work / "resident.log").read_text(encoding="utf-8")
    rows = [int(re.search(f"^  {row}.*? (\\d+)(?: +[+-]|$)", log, re.MULTILINE).group(1)) / 2**20
            for row in ["planned:", "kernel workspaces", "constant:", "together", "peak resident"]]
    ranks = len(re.findall(r"^  rank \d+ ", log, re.MULTILINE))
    return [model, " ".join(flags), str(ranks), *(f"{row:.1f}" for row in rows), f"{rows[4] / rows[3] - 1:+.1%}"]


def print_resident(binaries, work):
    print("Memory of a run in MiB, and the peak RSS of its process (goal: within 5%):\n")
    print_table(["model", "flags", "ranks", "arenas", "workspaces", "constant", "together", "RSS", "difference"],
                [resident(binaries, work, model, flags) for model, flags in RESIDENT])


def search(binaries, work, root):
    """llama3-405b on 16,384 GPUs: the search, and the compile of its winner for two numbers of dp ranks."""
    recipe, cluster = root / "recipes" / "models" / "llama3-405b.yaml", root / "recipes" / "clusters" / "dgx-h100.yaml"
    command = [binaries / "tgpt-plan", recipe, f"--cluster={cluster}", "--gpus=16384", "--global-batch=2048"]
    measured([*command, "--exact=0", "--json"], work / "search.json")
    report = json.loads((work / "search.json").read_text(encoding="utf-8"))
    print("Searching llama3-405b on 16,384 GPUs (goal: 100,000 candidates a second and core, about a second in all):")
    print(f"{report['candidates']} candidates in {report['search_seconds']:.2f} s, "
          f"{report['candidates'] / report['search_seconds']:.0f} a second; {report['evaluated']} fit and were timed, "
          f"{report['evaluated'] / report['search_seconds']:.0f} a second")
    winner = report["plans"][0]
    flags = winner["command"].split(" && ")[-1].split()[1:-3]
    dp = winner["choices"]["dp"]
    rows = []
    for ranks in [dp, max(dp // 2, 1)]:
        words = [f"--dp={ranks}" if word.startswith("--dp=") else word for word in flags]
        wall, user, memory = measured([binaries / "tgpt-opt", *words, work / "llama3-405b.mlir", "-o", work / "winner.bin"], work / "log")
        rows.append([f"--dp={ranks}", f"{wall:.2f} s", f"{user:.2f} s", f"{memory:.0f} MiB"])
    print(f"\nCompiling its winner, {' '.join(flags)} (goal: below a second, whatever dp is):\n")
    print_table(["", "wall", "CPU", "peak"], rows)


def main():
    binaries, work, steps = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), int(sys.argv[3])
    recipes = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "models"
    for model in ["llama3-405b", "pretrain-tiny"]:
        measured([binaries / "tgpt-import", recipes / f"{model}.yaml", "-o", work / f"{model}.mlir"], work / "log")
    compiler = [binaries / "tgpt-opt", "--memory-report=none"]
    model, plan = work / "llama3-405b.mlir", work / "llama3-405b.bin"
    compiles = [measured([*compiler, *LARGE, model, "-o", plan], work / "log") for _ in range(3)]
    cluster = recipes.parent / "clusters" / "dgx-h100.yaml"
    simulate = [binaries / "tgpt-run", plan, "--backend=sim", f"--cluster={cluster}"]
    simulations = [measured(simulate, work / "log") for _ in range(3)]
    runs = []
    plans = {"f32": ["--dtype=f32"], "bf16": ["--dtype=bf16"], "f32 canonical": ["--dtype=f32", "--reduction=canonical"]}
    for name, flags in plans.items():
        plan_of_name = ["--micro-batch-samples=4", work / "pretrain-tiny.mlir", "-o", work / f"{name}.bin"]
        measured([*compiler, *flags, *plan_of_name], work / "log")
        runs += [train(binaries, work, name, threads, steps) for threads in [1, 2]]

    print("Training pretrain-tiny (19.4M parameters), 4 x 512 tokens a step, 1 rank:\n")
    print_training(runs)
    print_resident(binaries, work)
    wall, user, memory = (pick(column) for pick, column in zip((min, min, max), zip(*compiles)))
    print(f"Compiling llama3-405b, {' '.join(LARGE)}:")
    print(f"{wall:.1f} s wall, {user:.1f} s of CPU time, {memory:.0f} MiB peak; plan {plan.stat().st_size / 2**20:.1f} MiB")
    print()
    wall, user, memory = (pick(column) for pick, column in zip((min, min, max), zip(*simulations)))
    print("Simulating a step of it, from loading the plan to the report:")
    print(f"{wall:.2f} s wall, {user:.2f} s of CPU time, {memory:.0f} MiB peak")
    print()
    search(binaries, work, pathlib.Path(__file__).resolve().parent.parent)


main()
