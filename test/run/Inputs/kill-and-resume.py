"""kill-and-resume.py PLAN DIR KILLS STEPS: kills runs that save after every step, then finishes.

A run is killed KILLS times, by SIGKILL or SIGTERM in turn, while it starts or after a drawn number of further
checkpoints, and taken up again from what is on disk (from the start once it has come to its end). After each kill every checkpoint there is complete; after SIGTERM nothing temporary is left and the
exit code is 143. The last run ends with the bits of an unbroken one.
"""
import filecmp
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time

from launched import started

plan, folder, kills, steps = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
saved = os.path.join(folder, "saved")
random.seed(5)


def command(*options):
    return ["tgpt-run", plan, "--synthetic=5", "--no-peak", f"--steps={steps}", "--lr=1e-3", *options]


def checkpoint_count(folder_of):
    return sum(name.startswith("step-") for name in os.listdir(folder_of)) if os.path.exists(folder_of) else 0


def await_checkpoints(process, folder_of, count):
    """Returns when so many are there, or the run has come to its end."""
    while process.poll() is None and checkpoint_count(folder_of) < count:
        time.sleep(0.002)


def save_options():
    resume = [f"--resume={saved}"] if os.path.exists(os.path.join(saved, "latest")) else []
    return [f"--save={saved}", "--save-every=1", *resume]


def check_checkpoints(allow_temporary):
    names = sorted(os.listdir(saved)) if os.path.exists(saved) else []
    for name in names:
        if name.startswith("step-"):
            state = json.load(open(os.path.join(saved, name, "checkpoint.json")))
            assert state["step"] == int(name[5:]), name
            assert sorted(os.listdir(os.path.join(saved, name))) == [
                "checkpoint.json", "optimizer.safetensors", "weights.safetensors"], name
        else:
            assert name == "latest" or allow_temporary, f"{name} is left behind"
    if "latest" in names:
        assert open(os.path.join(saved, "latest")).read().strip() in names
    return checkpoint_count(saved)


unbroken = os.path.join(folder, "unbroken.safetensors")
start = time.monotonic()
whole = started(command(f"--save={folder}/whole", "--save-every=1", f"--dump-variables={unbroken}"),
                stdout=subprocess.DEVNULL)
await_checkpoints(whole, f"{folder}/whole", 1)
first_seconds = time.monotonic() - start
assert whole.wait() == 0
step_seconds = (time.monotonic() - start - first_seconds) / (steps - 1)

counts = []
for kill in range(kills):
    # By what it has done, not by the clock alone: however busy the machine is, most runs get somewhere.
    before = checkpoint_count(saved)
    process = started(command(*save_options()), stdout=subprocess.DEVNULL)
    if kill % 4 in (0, 3):  # while it starts
        time.sleep(random.uniform(0, first_seconds))
    else:
        await_checkpoints(process, saved, before + random.randint(1, max(1, steps // kills)))
        time.sleep(random.uniform(0, 2 * step_seconds))
    by = signal.SIGKILL if kill % 2 == 0 else signal.SIGTERM
    process.send_signal(by)
    _, errors = process.communicate(timeout=60)
    allowed = {signal.SIGKILL: [-9], signal.SIGTERM: [143, -15]}[by]  # -15: before training began
    if "already; --steps counts from" in errors or process.returncode == 0:  # it had come to its end before
        by = None
    else:
        assert process.returncode in allowed, f"exit code {process.returncode} after {by}: {errors}"
    counts.append(check_checkpoints(allow_temporary=by == signal.SIGKILL or process.returncode == -15))
    if counts[-1] == steps:
        shutil.rmtree(saved)
assert len(set(counts)) > 2, f"the runs were killed in too few places: {counts}"

resumed = os.path.join(folder, "resumed.safetensors")
subprocess.run(command(*save_options(), f"--dump-variables={resumed}"), check=True, stdout=subprocess.DEVNULL)
assert filecmp.cmp(unbroken, resumed, shallow=False), "the run that was killed has other bits"
assert check_checkpoints(allow_temporary=False) == steps
print("checkpoints after each kill:", *counts)
