"""crash-one-rank.py PLAN SIGNAL: a thread of a run that crashes ends the run with the places of all ranks.

Sends SIGNAL to the thread "rank 1" of a tgpt-run in the midst of training, as the kernel does when the thread touches
memory that it has not. Prints its standard error.
"""
import ctypes
import signal
import subprocess
import sys
import time

from launched import await_steps, started, thread_named

plan, by = sys.argv[1], getattr(signal, sys.argv[2])
metrics = f"{plan}.{sys.argv[2]}.jsonl"
process = started(["tgpt-run", plan, "--synthetic=1", "--steps=1000000", "--no-peak", f"--metrics={metrics}",
                   "--launch=threads"], stdout=subprocess.DEVNULL)
await_steps(process, metrics, 3)
thread = thread_named(process, "rank 1")
start = time.monotonic()
assert ctypes.CDLL(None).tgkill(process.pid, thread, int(by)) == 0
_, errors = process.communicate(timeout=60)
assert process.returncode == 1, process.returncode
assert time.monotonic() - start < 20
print(errors, end="")
