"""kill-ranks.py PLAN RANKS DIR KILLS: single rank processes are killed at drawn moments.

Some runs are on two machines (their processes think so, and share no memory). Each run saves after every step until one rank is killed, crashes or is suspended. The run ends in time with exit code
1 and one error, which names that rank and has a table of all ranks; no process, shared memory or temporary file is
left; and in the end a run of threads goes on from what is on disk, to the bits of an unbroken run. Signals to tgpt-run itself reach all ranks.
"""
import filecmp
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

from launched import ReservedPort, assert_nothing_left, marked_environment, processes_of, shared_memory, started

plan, ranks, folder, kills = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
saved = os.path.join(folder, "saved")
shared_before = shared_memory()
WATCHDOG_SECONDS = 2  # 1 was over on a machine with 40 busy processes to a core
MOST_SECONDS = 20  # to end, on a busy machine
random.seed(int(os.environ.get("TGPT_KILL_SEED", "7")))
# AddressSanitizer has its own words for crashes.
HAS_ASAN = b"__asan_init" in open(shutil.which("tgpt-run"), "rb").read()
SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGKILL if HAS_ASAN else signal.SIGSEGV, signal.SIGKILL,
           signal.SIGKILL if HAS_ASAN else signal.SIGBUS]


def command(steps, *options):
    resume = [f"--resume={saved}"] if os.path.exists(os.path.join(saved, "latest")) else []
    return ["tgpt-run", plan, "--synthetic=5", "--no-peak", f"--steps={steps}", "--lr=1e-3", f"--save={saved}",
            "--save-every=1", *resume, *options]


def ranks_in_table(errors):
    """All ranks in the first column of the table."""
    found = []
    for line in errors.splitlines():
        row = re.match(r"(?:\[rank \d+\] )?  ((?:\d+(?:-\d+)?(?:, )?)+)  +\d", line)
        for part in row.group(1).split(", ") if row else []:
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    return sorted(found)


def names_in_directory():
    return set(os.listdir(saved)) if os.path.exists(saved) else set()


def check_directory(may_be_temporary, before=frozenset()):
    """What a rank 0 that was killed has left, the next run that gets so far removes: it may be there `before`."""
    for name in names_in_directory() - before:
        if name.startswith("step-"):
            assert sorted(os.listdir(os.path.join(saved, name))) == [
                "checkpoint.json", "optimizer.safetensors", "weights.safetensors"], name
        else:
            assert name == "latest" or may_be_temporary, f"{name} is left behind"


class Spawned:
    """A run whose ranks tgpt-run starts."""

    def __init__(self, options, environment):
        self.process = started([*options, "--launch=spawn"], env=environment, stdout=subprocess.DEVNULL)
        self.processes = [self.process]

    def end(self, _):
        _, errors = self.process.communicate(timeout=MOST_SECONDS + 10)
        assert self.process.returncode == 1, f"exit code {self.process.returncode}: {errors}"
        return errors


class OnTwoMachines:
    """A run whose ranks are started apart; one process on each machine may report."""

    def __init__(self, options, environment):
        self.port = ReservedPort()
        port = self.port.__enter__()
        self.processes = [started(options, stdout=subprocess.DEVNULL,
                                  env=dict(environment, RANK=str(rank), LOCAL_RANK="0", MASTER_PORT=port,
                                           WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
                                           TGPT_MACHINE=f"machine {rank % 2}"))
                          for rank in range(ranks)]

    def end(self, killed):
        errors = [process.communicate(timeout=MOST_SECONDS + 10)[1] for process in self.processes]
        self.port.__exit__()
        codes = [process.returncode for rank, process in enumerate(self.processes) if rank != killed]
        assert codes == [1] * (ranks - 1), f"exit codes {codes}: {errors}"
        reports = [error for error in errors if error]
        assert len(reports) == (2 if killed == 0 and all(reports) and len(reports) == 2 else 1), errors
        return reports[0]


def latest_checkpoint():
    path = os.path.join(saved, "latest")
    return open(path, encoding="utf-8").read().strip() if os.path.exists(path) else ""


def wait_for_a_step(before, processes):
    deadline = time.monotonic() + 3 * MOST_SECONDS
    while latest_checkpoint() == before:
        ended = [process.communicate() for process in processes if process.poll() is not None]
        assert not ended, f"it has ended before it saved a step: {ended}"
        assert time.monotonic() < deadline, "no step was saved"
        time.sleep(0.01)


def kill_once(number):
    by = SIGNALS[number % 5]
    if number % 12 == 7:
        by = signal.SIGSTOP
    rank = random.randrange(ranks)
    environment = marked_environment()
    on_machines = number % 6 == 4
    before, names_before = latest_checkpoint(), names_in_directory()
    by = signal.SIGKILL if on_machines else by
    # Elsewhere a busy machine must not look like one on which a rank stands still.
    options = command(1000000, *[f"--watchdog-seconds={WATCHDOG_SECONDS}"] * (by == signal.SIGSTOP))
    run = (OnTwoMachines if on_machines else Spawned)(options, environment)
    start = time.monotonic()
    target = None
    while target is None:  # its process has to be there
        target = next((process for process, of in processes_of(environment) if of == rank), None)
        assert time.monotonic() - start < MOST_SECONDS
    # Half of them while ranks start and meet (nobody but a launcher knows of one that never came), which is the first
    # part of the time that a run of one step takes; half in training.
    starts = number % 2 == 0 and not on_machines
    if not starts:
        wait_for_a_step(before, run.processes)
    time.sleep(first_step_seconds * random.random() ** 3 if starts else random.uniform(0, 0.2))
    os.kill(target, by)
    killed = time.monotonic()
    errors = run.end(rank)
    seconds = time.monotonic() - killed
    what = f"kill {number}: rank {rank}, {by.name}, after {seconds:.2f} s:\n{errors}"
    assert errors.count("tgpt-run: error: ") == 1 and f"rank {rank}" in errors.splitlines()[0], what
    assert seconds < MOST_SECONDS + (WATCHDOG_SECONDS if by == signal.SIGSTOP else 0), what
    has_table = "micro-batch" in errors.splitlines()[1] if len(errors.splitlines()) > 1 else False
    if has_table:
        assert sorted(set(ranks_in_table(errors))) == list(range(ranks)), what
    assert_nothing_left(environment, shared_before)
    check_directory(may_be_temporary=rank == 0, before=names_before)
    return by, has_table, seconds


def signal_the_launcher(by, code):
    """It passes an interrupt on, and takes its ranks with it when it is killed itself."""
    environment, before = marked_environment(), latest_checkpoint()
    run = started(command(1000000, "--launch=spawn"), env=environment, stdout=subprocess.PIPE)
    wait_for_a_step(before, [run])
    run.send_signal(by)
    output, errors = run.communicate(timeout=MOST_SECONDS)
    assert run.returncode == code and errors == "", f"exit code {run.returncode} after {by.name}: {errors}"
    assert by == signal.SIGKILL or "interrupted after step" in output, output
    assert_nothing_left(environment, shared_before)
    check_directory(may_be_temporary=True)


start = time.monotonic()
subprocess.run(command(1, "--launch=spawn"), check=True, stdout=subprocess.DEVNULL)
first_step_seconds = time.monotonic() - start
outcomes = [kill_once(number) for number in range(kills)]
tables = sum(has_table for _, has_table, _ in outcomes)
assert tables > kills // 4, f"only {tables} of {kills} errors say where ranks were, though half of the runs had begun"

signal_the_launcher(signal.SIGTERM, 143)
signal_the_launcher(signal.SIGINT, 130)
signal_the_launcher(signal.SIGKILL, -signal.SIGKILL)
steps = int(latest_checkpoint()[5:]) + 2
dumps = [os.path.join(folder, name) for name in ("killed.safetensors", "unbroken.safetensors")]
subprocess.run(command(steps, f"--dump-variables={dumps[0]}", "--launch=threads"), check=True,
               stdout=subprocess.DEVNULL)
check_directory(may_be_temporary=False)
shutil.rmtree(saved)
subprocess.run(command(steps, f"--dump-variables={dumps[1]}", "--launch=threads"), check=True,
               stdout=subprocess.DEVNULL)
assert filecmp.cmp(*dumps, shallow=False), "the runs that were killed have other bits"
slowest = {by: max(seconds for kind, _, seconds in outcomes if kind == by) for by in {kind for kind, _, _ in outcomes}}
print(f"{kills} ranks killed, {tables} in training, the slowest ends after",
      ", ".join(f"{seconds:.2f} s ({by.name})" for by, seconds in sorted(slowest.items())))
