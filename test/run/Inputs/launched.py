"""Starts ranks as processes in every way there is, and looks what is left of them.

A mark in the environment tells the processes of a job from all others.
"""
import glob
import os
import socket
import subprocess
import sys
import time
import uuid


def marked_environment():
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("OMPI_", "PMIX_", "SLURM_"))
             and k not in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")}
    return dict(clean, TGPT_TEST_MARK=uuid.uuid4().hex)


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


def assert_nothing_left(environment, shared_before):
    deadline = time.monotonic() + 10
    while processes_of(environment):
        assert time.monotonic() < deadline, f"processes are left: {processes_of(environment)}"
        time.sleep(0.02)
    left = set(os.listdir("/dev/shm")) - shared_before
    assert not [name for name in left if "tgpt" in name], f"shared memory is left: {left}"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_each(command, ranks, environment, variables_of):
    """A process for each rank with variables of its own; rank 0 talks."""
    running = []
    for rank in range(ranks):
        running.append(subprocess.Popen(command, env=dict(environment, **variables_of(rank)), text=True,
                                        stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                                        stderr=subprocess.PIPE))
    results = [process.communicate(timeout=120) for process in running]
    codes = [process.returncode for process in running]
    return next((code for code in codes if code), 0), results[0][0], "".join(error for _, error in results)


def run_as_torchrun_does(command, ranks, environment):
    port = str(free_port())
    return run_each(command, ranks, environment, lambda rank: {
        "RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost",
        "MASTER_PORT": port})


def run_on_machines(command, ranks, environment):
    """The same on three machines: processes that think so share no memory."""
    port = str(free_port())
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
