"""suspend-one-rank.py PLAN METRICS: a run of which one thread stands still must end by itself.

Suspends the thread "rank 1" of a tgpt-run in the midst of training, as a debugger would, and waits. The run must end
within its watchdog's bound with exit code 1. Prints its standard error.
"""
import ctypes
import os
import subprocess
import sys
import time

PTRACE_SEIZE, PTRACE_INTERRUPT, WALL = 0x4206, 0x4207, 0x40000000
BOUND_SECONDS = 1

libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
libc.ptrace.restype = ctypes.c_long


def trace(request, thread):
    if libc.ptrace(request, thread, None, None) != 0:
        sys.exit(f"ptrace: {os.strerror(ctypes.get_errno())}")


def thread_named(process, name):
    tasks = f"/proc/{process.pid}/task"
    for thread in os.listdir(tasks):
        if open(f"{tasks}/{thread}/comm", encoding="utf-8").read().strip() == name:
            return int(thread)
    sys.exit(f"there is no thread '{name}'")


plan, metrics = sys.argv[1:3]
process = subprocess.Popen(["tgpt-run", plan, "--synthetic=1", "--steps=1000000", "--no-peak", f"--metrics={metrics}",
                            f"--watchdog-seconds={BOUND_SECONDS}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
while not os.path.exists(metrics) or open(metrics, encoding="utf-8").read().count("\n") < 3:
    time.sleep(0.01)
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
print(errors.decode(), end="")
