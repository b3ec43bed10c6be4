#!/usr/bin/env python3
"""compare-simulation.py BIN WORK [--cluster=FILE] [--select=1,5-8] [--steps=N] [--runs=N] [--quiet=0.1 --tries=3]

Holds simulated steps against measured ones.

Calibrates this machine once (`tgpt-run --calibrate`), or takes FILE, and nothing is fitted to what follows: each
configuration is compiled, simulated (`--backend=sim`) and trained, and a row says what the median step took, how far
steps lie apart (half the distance of the quartiles), and simulated / measured. Steps of nano take milliseconds, and a
shared host may slow all of them by a fifth for some seconds: such a row is that of the middle one of --runs runs, and
"all runs" has the median of each. A machine that does other work as well measures that too: "cores of others" is what
others used meanwhile. With --quiet a run that others disturbed more than that is done again, up to --tries times, and
the least disturbed one counts.
"""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

# Model, flags of tgpt-opt. Steps of milliseconds are noise and overheads; those of a second are kernels.
CONFIGURATIONS = [
    ("pretrain-tiny", "--dtype=f32"),
    ("pretrain-tiny", "--dtype=bf16"),
    ("pretrain-tiny", "--dtype=f64"),
    ("pretrain-tiny", "--dtype=f16"),
    ("pretrain-tiny", "--dtype=bf16 --micro-batch-samples=2 --micro-batches=2"),
    ("pretrain-tiny", "--dtype=f32 --recompute=selective"),
    ("pretrain-tiny", "--dtype=bf16 --recompute=full"),
    ("pretrain-tiny", "--dtype=f32 --tp=2"),
    ("pretrain-tiny", "--dtype=bf16 --tp=2 --sp"),
    ("pretrain-tiny", "--dtype=bf16 --dp=2"),
    ("pretrain-tiny", "--dtype=f32 --dp=2 --zero=1"),
    ("pretrain-tiny", "--dtype=bf16 --dp=2 --zero=2"),
    ("pretrain-tiny", "--dtype=bf16 --dp=2 --zero=3"),
    ("pretrain-tiny", "--dtype=bf16 --pp=2 --micro-batches=4"),
    ("pretrain-tiny", "--dtype=bf16 --pp=2 --micro-batches=4 --schedule=gpipe"),
    ("pretrain-tiny", "--dtype=bf16 --pp=2 --micro-batches=4 --vpp=2"),
    ("pretrain-tiny", "--dtype=bf16 --pp=2 --micro-batches=4 --schedule=zero-bubble"),
    ("nano", "--dtype=f32 --micro-batch-samples=16"),
    ("nano", "--dtype=f32 --micro-batch-samples=16 --tp=2 --sp"),
    ("nano-gpt2", "--dtype=f32 --micro-batch-samples=16 --dp=2"),
    ("pretrain-tiny", "--dtype=bf16 --tp=2 --dp=2"),
    ("pretrain-tiny", "--dtype=bf16 --pp=4 --micro-batches=4"),
    ("pretrain-tiny", "--dtype=bf16 --tp=2 --pp=2 --dp=2 --micro-batches=2"),
]
WARM_UP = 2  # steps that make the products' code and touch the arenas first


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def selected(text):
    numbers = []
    for part in text.split(",") if text else []:
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers or range(1, len(CONFIGURATIONS) + 1)


def cpu_seconds():
    """Seconds that all cores of the machine have been busy, and what this process' children used of them."""
    fields = list(map(int, pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]))
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK"), used.ru_utime + used.ru_stime


def measured(binaries, plan, metrics, steps):
    """Median, spread and count of the steps; and the share of two cores that others used."""
    metrics.unlink(missing_ok=True)
    all_before, own_before, start = *cpu_seconds(), time.monotonic()
    run(binaries / "tgpt-run", plan, "--no-peak", "--synthetic=1", f"--steps={steps}", f"--log-every={steps}",
        f"--metrics={metrics}")
    all_after, own_after, wall = *cpu_seconds(), time.monotonic() - start
    seconds = [json.loads(line)["step_seconds"] for line in metrics.read_text().splitlines()][WARM_UP:]
    quarters = statistics.quantiles(seconds, n=4)
    others = max(0.0, (all_after - all_before) - (own_after - own_before)) / wall
    return statistics.median(seconds), (quarters[2] - quarters[0]) / 2 / statistics.median(seconds), len(seconds), others


def least_disturbed(options, plan, count):
    """Of up to `tries` runs the one in which others used the least, chosen without a look at its steps."""
    best = None
    for _ in range(options.tries):
        tried = measured(options.binaries, plan, options.work / "compared.jsonl", count)
        best = tried if best is None or tried[3] < best[3] else best
        if best[3] <= options.quiet:
            break
    return best


def middle_run(options, plan, count, runs):
    """The run whose median is the middle one of an odd number of runs, and the medians of all in milliseconds."""
    all_runs = [least_disturbed(options, plan, count) for _ in range(runs)]
    return sorted(all_runs)[runs // 2], " ".join(f"{1e3 * each[0]:.1f}" for each in all_runs)


def row(options, cluster, number):
    binaries, work, steps = options.binaries, options.work, options.steps
    model, flags = CONFIGURATIONS[number - 1]
    recipes = pathlib.Path(__file__).resolve().parent.parent / "recipes" / "models"
    module, plan = work / f"{model}.mlir", work / f"compared-{number}.bin"
    run(binaries / "tgpt-import", recipes / f"{model}.yaml", "-o", module)
    run(binaries / "tgpt-opt", "--memory-report=none", *flags.split(), module, "-o", plan)
    simulated = json.loads(run(binaries / "tgpt-run", plan, "--backend=sim", f"--cluster={cluster}", "--json"))
    count, runs = (steps, 1) if model == "pretrain-tiny" else (40 * steps, options.runs)
    (seconds, spread, repetitions, others), medians = middle_run(options, plan, count + WARM_UP, runs)
    ratio = simulated["step_seconds"] / seconds
    print(f"| {number} | {model} {flags} | {simulated['ranks']} | {1e3 * seconds:.2f} | {repetitions} | {spread:.1%} "
          f"| {others:.2f} | {medians} | {1e3 * simulated['step_seconds']:.2f} | {ratio:.3f} |", flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--cluster", type=pathlib.Path)
    parser.add_argument("--select", default="")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--runs", type=int, default=5, help="of a configuration of short steps; odd")
    parser.add_argument("--quiet", type=float, default=2.0, help="cores that others may use")
    parser.add_argument("--tries", type=int, default=1)
    options = parser.parse_args()
    if options.runs < 1 or options.runs % 2 == 0:
        parser.error(f"--runs is {options.runs}, expected an odd number")
    options.work.mkdir(parents=True, exist_ok=True)
    cluster = options.cluster or options.work / "here.yaml"
    if not options.cluster:
        print(run(options.binaries / "tgpt-run", "--calibrate", "-o", cluster).strip() + "\n")
    print("| | configuration | ranks | measured ms | steps | spread | cores of others | all runs | simulated ms | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    ratios = [row(options, cluster, number) for number in selected(options.select)]
    errors = [abs(ratio - 1) for ratio in ratios]
    print(f"\n{len(errors)} configurations: mean error {statistics.mean(errors):.1%}, worst {max(errors):.1%}; "
          f"within 15%: {sum(error <= 0.15 for error in errors)}")


main()
