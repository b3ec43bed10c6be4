#!/usr/bin/env python3
"""What scripts/gpu-check.sh says of the files that its steps leave; each command prints one line, exit code 1 if it is bad.

    gpu-check.py losses DEVICE.jsonl CPU.jsonl F64.jsonl WHAT   the device's losses beside the CPU's
    gpu-check.py tests LOG                                      how many tests of a GoogleTest log passed
    gpu-check.py rate METRICS.jsonl PLAN-INFO PEAK              tokens/s, and MFU by a peak in flop/s
    gpu-check.py peak CLUSTER.yaml                              the peak of bf16 in a cluster file
    gpu-check.py kernels BENCH [CLUSTER.yaml]                   shares of their ceilings in tgpt-kernel-bench's table,
                                                                and the ceilings beside those of the data sheet
"""
import json
import re
import statistics
import sys

# How much farther from f64 a device's losses may be than the CPU's in the same dtype. Both round as often; the order of
# sums differs, and products of bf16 are added in another grouping.
FACTOR = 8
# Where the CPU happens to be much nearer to f64 than that: a loss is an f32, this many of its roundings.
FLOOR = 4 * 2**-24


def losses_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["loss"] for line in lines]


def losses(device_path, cpu_path, exact_path, what):
    device, cpu, exact = losses_of(device_path), losses_of(cpu_path), losses_of(exact_path)
    if not len(device) == len(cpu) == len(exact) or not device:
        return f"{what}: {len(device)}, {len(cpu)} and {len(exact)} losses", False
    off = [max(abs(a - b) for a, b in zip(run, exact)) for run in (device, cpu)]
    bound = max(FACTOR * off[1], FLOOR * max(exact))
    return f"{what}: {off[0]:.1e} off f64, CPU {off[1]:.1e}, bound {bound:.1e}", off[0] <= bound


def tests(path):
    with open(path, encoding="utf-8", errors="replace") as log:
        text = log.read()
    passed = re.findall(r"\[  PASSED  \] (\d+) test", text)
    failed = re.findall(r"\[  FAILED  \] (\d+) test", text)
    count, bad = int(passed[-1]) if passed else 0, int(failed[-1]) if failed else 0
    return f"{count} passed, {bad} failed", count > 0 and bad == 0


def number(text):
    suffixes = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
    value, suffix = re.fullmatch(r"([\d.]+)([kMGTP]?)", text).groups()
    return float(value) * suffixes[suffix]


def rate(metrics_path, info_path, peak):
    with open(metrics_path, encoding="utf-8") as lines:
        steps = [json.loads(line) for line in lines]
    with open(info_path, encoding="utf-8") as info:
        flops = number(re.search(r"model flops: (\S+) a step", info.read()).group(1))
    late = steps[len(steps) // 2:]  # the first ones warm up
    seconds = statistics.median(step["step_seconds"] for step in late)
    tokens = statistics.median(step["tokens_per_second"] for step in late)
    mfu = flops / seconds / float(peak)
    return f"{tokens:,.0f} tokens/s, {seconds * 1e3:.1f} ms a step, MFU {100 * mfu:.1f}% of {float(peak) * 1e-12:g} TFLOP/s", tokens > 0


def figure(path, pattern):
    with open(path, encoding="utf-8") as cluster:
        return re.search(pattern, cluster.read(), re.M).group(1)


def peak(path):
    return figure(path, r"^\s*matrix_flops_per_second:.*\bbf16: ([\d.e+]+)"), True


def ceilings(bench_path, cluster_path):
    with open(bench_path, encoding="utf-8") as bench:
        product, copy = re.search(r"GEMM peak (\d+) GFLOP/s, copy (\d+) GB/s", bench.read()).groups()
    memory = float(figure(cluster_path, r"^\s*memory_bytes_per_second: ([\d.e+]+)"))
    return (f"product {int(product) * 1e-3:.0f} of {float(peak(cluster_path)[0]) * 1e-12:.0f} TFLOP/s, "
            f"copy {int(copy) * 1e-3:.2f} of {memory * 1e-12:.2f} TB/s")


def kernels(path, cluster=None):
    rows = []
    with open(path, encoding="utf-8") as table:
        for line in table:
            found = re.match(r"(\S.*?)\s+[\d.]+(?:\s+[\d.]+)?\s+(\d+)%\s+[\d.]+\s+([\d.]+)$", line.rstrip())
            if found:
                rows.append((found.group(1).strip(), int(found.group(2)), float(found.group(3))))
    counted = [row for row in rows if row[2] > 0]
    if not counted:
        return "no kernel was measured", False
    total = sum(row[2] for row in counted)
    share = sum(row[1] * row[2] for row in counted) / total
    name, least, _ = min(counted, key=lambda row: row[1])
    text = f"{len(rows)} kernels, {share:.0f}% of their ceilings by time, least {least}% ({name})"
    return text + (f"; {ceilings(path, cluster)}" if cluster else ""), True


def main(arguments):
    commands = {"losses": (losses, [4]), "tests": (tests, [1]), "rate": (rate, [3]), "peak": (peak, [1]), "kernels": (kernels, [1, 2])}
    if not arguments or arguments[0] not in commands or len(arguments) - 1 not in commands[arguments[0]][1]:
        sys.exit(__doc__)
    text, is_good = commands[arguments[0]][0](*arguments[1:])
    print(text)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
