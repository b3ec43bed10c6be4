"""kill-under-mpirun.py PLAN RANKS RANK: mpirun's process of one rank is killed while it trains.

The job ends in time, not with success, with one error that names the rank (ours, unless mpirun was quicker to end
everybody, which then says so itself); nothing is left.
"""
import os
import signal
import subprocess
import sys
import time

from launched import assert_nothing_left, await_steps, marked_environment, shared_memory, started

plan, ranks, victim = sys.argv[1], sys.argv[2], int(sys.argv[3])
MOST_SECONDS = 20
environment, shared_before = marked_environment(), shared_memory()
metrics = plan + ".metrics"


def process_of(rank):
    """Of those with the mark."""
    wanted = {b"TGPT_TEST_MARK=" + environment["TGPT_TEST_MARK"].encode(), f"OMPI_COMM_WORLD_RANK={rank}".encode()}
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                if wanted <= set(file.read().split(b"\0")):
                    return int(number)
        except OSError:
            continue
    raise AssertionError(f"there is no process of rank {rank}")


if os.path.exists(metrics):
    os.remove(metrics)
run = started(["mpirun", "--oversubscribe", "--allow-run-as-root", "-x", "TGPT_TEST_MARK", "-n", ranks, "tgpt-run", plan,
               "--synthetic=1", "--no-peak", "--steps=1000000", f"--metrics={metrics}"],
              env=environment, stdout=subprocess.DEVNULL)
await_steps(run, metrics, 2)
os.kill(process_of(victim), signal.SIGKILL)
killed = time.monotonic()
_, errors = run.communicate(timeout=MOST_SECONDS + 10)
seconds = time.monotonic() - killed
assert run.returncode != 0 and seconds < MOST_SECONDS, f"exit code {run.returncode} after {seconds:.1f} s: {errors}"
own = [line for line in errors.splitlines() if "tgpt-run: error: " in line]
assert len(own) <= 1, errors
said = own[0] if own else errors
assert (f"error: rank {victim} (" in said and "its process has ended without a word" in said
        or not own and f"process rank {victim} " in said), errors
assert_nothing_left(environment, shared_before)
print(f"rank {victim} of {ranks} killed under mpirun: the job has ended")
