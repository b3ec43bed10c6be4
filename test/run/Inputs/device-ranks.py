"""device-ranks.py PLAN RANKS DIR: a process for each rank, each with an emulated device, however they are started.

All give the bits of rank threads. Of two that have one device the error names both. One that is killed, and one that is
suspended, ends the run in time with every rank's place, and nothing is left.
"""
import filecmp
import os
import signal
import subprocess
import sys
import time

from launched import (ReservedPort, WAYS, assert_nothing_left, await_steps, marked_environment, processes_of, run_each,
                      shared_memory, started)

plan, ranks, folder = sys.argv[1], int(sys.argv[2]), sys.argv[3]
WATCHDOG_SECONDS = 4
MOST_SECONDS = 30  # to end, on a busy machine


def command(name, steps=2):
    return ["tgpt-run", plan, "--synthetic=1", f"--steps={steps}", "--backend=cuda-emulated",
            f"--dump-variables={folder}/{name}"]


def check(name, result):
    code, _, errors = result
    assert code == 0, f"{name}: {errors}"
    assert filecmp.cmp(f"{folder}/{name}", f"{folder}/threads", shallow=False), f"{name} differs from threads"


def as_torchrun(name, variables_of):
    """As torchrun, with more variables."""
    with ReservedPort() as port:
        return run_each(command(name), ranks, marked_environment(), lambda rank: {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost",
            "MASTER_PORT": port, **variables_of(rank)})


code, _, errors = WAYS["threads"](command("threads"), ranks, marked_environment())
assert code == 0, errors
done = subprocess.run([*command("gpus"), f"--gpus={ranks}"], env=marked_environment(), capture_output=True, text=True,
                      timeout=120)
check("gpus", (done.returncode, done.stdout, done.stderr))
check("torchrun", as_torchrun("torchrun", lambda rank: {}))
check("machines", as_torchrun("machines", lambda rank: {"TGPT_MACHINE": f"machine {rank % 2}"}))
code, _, errors = as_torchrun("shared", lambda rank: {"CUDA_VISIBLE_DEVICES": "3"})
assert code == 1 and "ranks 0 and 1 have one GPU, emulated 0 of " in errors, errors
print(f"{ranks} ranks, the bits of threads: --gpus, torchrun, two machines; one device for all is an error")

shared_before = shared_memory()
for by in (signal.SIGKILL, signal.SIGSTOP):
    environment, metrics = marked_environment(), f"{folder}/{by.name}.jsonl"
    run = started([*command("lost", 1000000), f"--gpus={ranks}", f"--watchdog-seconds={WATCHDOG_SECONDS}",
                   f"--metrics={metrics}"], env=environment, stdout=subprocess.DEVNULL)
    await_steps(run, metrics, 2)
    os.kill(next(pid for pid, rank in processes_of(environment) if rank == 1), by)
    begin = time.monotonic()
    _, errors = run.communicate(timeout=MOST_SECONDS + 10)
    assert run.returncode == 1, errors
    assert time.monotonic() - begin < MOST_SECONDS, time.monotonic() - begin
    # The peers of one that is suspended are in their streams, as it may be: the table has all of them. Between steps,
    # where nobody watches, it is missed by name.
    said = ["rank 1 ("] + [f"no rank has advanced for {WATCHDOG_SECONDS} s: "] * (by == signal.SIGSTOP)
    assert errors.count("tgpt-run: error:") == 1 and any(text in errors for text in said) and "state" in errors, errors
    assert_nothing_left(environment, shared_before)
    print(f"{by.name} of rank 1 ended the run: {errors}")
