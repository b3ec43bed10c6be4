"""suspend-one-rank.py PLAN METRICS: a run of which one thread stands still must end by itself.

Suspends the thread "rank 1" of a tgpt-run in the midst of training, as a debugger would, and waits. The run must end
within its watchdog's bound with exit code 1. Prints its standard error.
"""
import ctypes
import os
import subprocess
import sys
import time

from launched import await_steps, started, thread_named

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
BOUND_SECONDS = 2  # 1 was over on a machine with 40 busy processes to a core

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def trace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")


plan, metrics = sys.argv[1:3]
process = started(["tgpt-run", plan, "--synthetic=1", "--steps=1000000", "--no-peak", f"--metrics={metrics}",
                   f"--watchdog-seconds={BOUND_SECONDS}"], stdout=subprocess.DEVNULL)
await_steps(process, metrics, 3)
thread = thread_named(process, "rank 1")
trace(PTRACE_SEIZE, thread)
trace(PTRACE_INTERRUPT, thread)
os.waitpid(thread, WALL)  # it stands still
start = time.monotonic()
os.waitpid(thread, WALL)  # it has gone, with its process
_, errors = process.communicate(timeout=60)
seconds = time.monotonic() - start
assert process.returncode == 1, process.returncode
assert BOUND_SECONDS <= seconds < BOUND_SECONDS + 10, seconds
print(errors, end="")
