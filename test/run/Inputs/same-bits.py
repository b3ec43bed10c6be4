"""same-bits.py PLAN RANKS DIR WAY...: ranks that are processes give the bits of ranks that are threads.

Trains as threads and in every WAY (launched.py), from the start and from a checkpoint of the threads. Metrics (but
for times), dumps and every file of every checkpoint must be equal, byte for byte, and nothing may be left behind.
"""
import filecmp
import json
import os
import sys

from launched import WAYS, assert_nothing_left, marked_environment, shared_memory

plan, ranks, folder, ways = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:]
shared_before = shared_memory()
TIMES = ("tokens_per_second", "step_seconds", "flops_share")


def train(way, name, *options):
    where = os.path.join(folder, name)
    os.makedirs(where)
    environment = marked_environment()
    command = ["tgpt-run", plan, "--synthetic=3", "--no-peak", "--lr=1e-3", f"--save={where}/run", "--save-every=2",
               f"--metrics={where}/metrics.jsonl", f"--dump-gradients={where}/gradients.safetensors",
               f"--dump-variables={where}/variables.safetensors", "--profile", *options]
    code, output, errors = WAYS[way](command, ranks, environment)
    assert code == 0, f"{way}: exit code {code}: {errors}"
    assert errors == "" or way == "mpirun", f"{way}: {errors}"
    assert output.count("saved ") == 2 and output.count("  rank ") == ranks, f"{way} printed\n{output}"
    assert "DIFFERS" not in output
    assert_nothing_left(environment, shared_before)
    return where


def files_of(where):
    return sorted(os.path.relpath(os.path.join(path, name), where)
                  for path, _, names in os.walk(where) for name in names)


def metrics_of(where):
    lines = [json.loads(line) for line in open(os.path.join(where, "metrics.jsonl"), encoding="utf-8")]
    return [{key: value for key, value in line.items() if key not in TIMES} for line in lines]


def assert_same(threads, processes):
    assert files_of(threads) == files_of(processes), f"{files_of(threads)} and {files_of(processes)}"
    assert metrics_of(threads) == metrics_of(processes), f"{metrics_of(threads)} and {metrics_of(processes)}"
    for name in files_of(threads):
        if name != "metrics.jsonl":
            a, b = os.path.join(threads, name), os.path.join(processes, name)
            assert filecmp.cmp(a, b, shallow=False), f"{a} and {b} differ"


whole = train("threads", "threads", "--steps=4")
rest = train("threads", "threads-resumed", "--steps=7", f"--resume={whole}/run")
for way in ways:
    assert_same(whole, train(way, way, "--steps=4"))
    if way == ways[0]:
        assert_same(rest, train(way, way + "-resumed", "--steps=7", f"--resume={whole}/run"))
print(f"{ranks} ranks, the same bits as threads:", *ways)
