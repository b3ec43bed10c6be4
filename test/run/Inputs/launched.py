"""Starts ranks as processes in every way there is, and looks what is left of them.

A mark in the environment tells the processes of a job from all others. Whatever becomes of a test, none of them is left.
"""
import atexit
import glob
import os
import signal
import socket
import subprocess
import sys
import time
import uuid


def shared_memory():
    """The names of segments, where this machine has such a folder."""
    return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()


def marked_environment():
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))
             and k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
    environment = dict(clean, TGPT_TEST_MARK=uuid.uuid4().hex)
    atexit.register(kill_all, environment)
    return environment


def processes_of(environment):
    """The process ids with the mark, by RANK (None: not one of a rank); zombies have no environment."""
    wanted = b"TGPT_TEST_MARK=" + environment["TGPT_TEST_MARK"].encode()
    found = []
    for path in glob.glob("/proc/[0-9]*/environ"):
        try:
            entries = open(path, "rb").read().split(b"\0")
        except OSError:
            continue
        if wanted in entries:
            rank = [int(entry[5:]) for entry in entries if entry.startswith(b"RANK=")]
            found.append((int(path.split("/")[2]), rank[0] if rank else None))
    return found


def thread_named(process, name):
    """The number of a thread of a Popen; threads may end while this looks."""
    for task in os.listdir(f"/proc/{process.pid}/task"):
        try:
            with open(f"/proc/{process.pid}/task/{task}/comm", encoding="utf-8") as comm:
                if comm.read().strip() == name:
                    return int(task)
        except OSError:
            continue
    raise AssertionError(f"there is no thread '{name}'")


def await_steps(process, metrics, count):
    """Returns when a Popen has trained so many steps, as its metrics say."""
    while not os.path.exists(metrics) or open(metrics, encoding="utf-8").read().count("\n") < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def kill_all(environment):
    for process, _ in processes_of(environment):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass  # it has ended meanwhile


def assert_nothing_left(environment, shared_before):
    deadline = time.monotonic() + 10
    while processes_of(environment):
        assert time.monotonic() < deadline, f"processes are left: {processes_of(environment)}"
        time.sleep(0.02)
    left = shared_memory() - shared_before
    assert not [name for name in left if "tgpt" in name], f"shared memory is left: {left}"


def started(command, **options):
    """A Popen whose process, and what it has spawned, ends with this one at the latest."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **options)
    atexit.register(process.kill)
    return process


class ReservedPort:
    """A port, as text, on which nobody listens, and which the kernel gives to nobody else as long as this lives. Who
    asks for its number may listen there."""

    def __enter__(self):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("", 0))
        return str(self.socket.getsockname()[1])

    def __exit__(self, *_):
        self.socket.close()


def run_each(command, ranks, environment, variables_of):
    """A process for each rank with variables of its own; rank 0 talks."""
    running = []
    for rank in range(ranks):
        running.append(started(command, env=dict(environment, **variables_of(rank)),
                               stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL))
    results = [process.communicate(timeout=120) for process in running]
    codes = [process.returncode for process in running]
    return next((code for code in codes if code), 0), results[0][0], "".join(error for _, error in results)


def run_as_torchrun_does(command, ranks, environment):
    with ReservedPort() as port:
        return run_each(command, ranks, environment, lambda rank: {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost",
            "MASTER_PORT": port})


def run_on_machines(command, ranks, environment):
    """The same on three machines: processes that think so share no memory."""
    with ReservedPort() as port:
        return run_each(command, ranks, environment, lambda rank: {
            "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": port, "TGPT_MACHINE": f"machine {rank * 5 % 8 % 3}"})


def run_as_srun_does(command, ranks, environment):
    """In Slurm's words; the port follows from the job's number."""
    return run_each(command, ranks, environment, lambda rank: {
        "SLURM_PROCID": str(rank), "SLURM_LOCALID": str(rank), "SLURM_NTASKS": str(ranks), "SLURM_STEP_ID": "0",
        "SLURM_JOB_ID": environment["TGPT_TEST_MARK"], "SLURM_STEP_NODELIST": "localhost"})


def run_spawned(command, ranks, environment):
    done = subprocess.run([*command, "--launch=spawn"], env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def run_under_mpirun(command, ranks, environment):
    done = subprocess.run(["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", str(ranks), *command],
                          env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def run_as_threads(command, ranks, environment):
    done = subprocess.run([*command, "--launch=threads"], env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


WAYS = {"threads": run_as_threads, "spawn": run_spawned, "mpirun": run_under_mpirun,
        "torchrun": run_as_torchrun_does, "machines": run_on_machines, "srun": run_as_srun_does}
