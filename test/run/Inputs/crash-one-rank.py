"""crash-one-rank.py PLAN SIGNAL: a thread of a run that crashes ends the run with the places of all ranks.

Sends SIGNAL to the thread "rank 1" of a tgpt-run in the midst of training, as the kernel does when the thread touches
memory that it has not. Prints its standard error.
"""
import ctypes
import os
import signal
import subprocess
import sys
import time

plan, by = sys.argv[1], getattr(signal, sys.argv[2])
metrics = f"{plan}.{sys.argv[2]}.jsonl"
process = subprocess.Popen(["tgpt-run", plan, "--synthetic=1", "--steps=1000000", "--no-peak", f"--metrics={metrics}",
                            "--launch=threads"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
while not os.path.exists(metrics) or open(metrics, encoding="utf-8").read().count("\n") < 3:
    time.sleep(0.01)
tasks = f"/proc/{process.pid}/task"
thread = next(task for task in os.listdir(tasks) if open(f"{tasks}/{task}/comm", encoding="utf-8").read() == "rank 1\n")
start = time.monotonic()
assert ctypes.CDLL(None).tgkill(process.pid, int(thread), int(by)) == 0
_, errors = process.communicate(timeout=60)
assert process.returncode == 1, process.returncode
assert time.monotonic() - start < 20
print(errors, end="")
