"""two-machines.py PLAN: eight processes of which four say that they are on another machine; prints their error."""
import os
import subprocess
import sys

from launched import free_port, marked_environment

port = str(free_port())
running = []
for rank in range(8):
    environment = dict(marked_environment(), RANK=str(rank), LOCAL_RANK=str(rank % 4), WORLD_SIZE="8",
                       MASTER_ADDR="127.0.0.1", MASTER_PORT=port, TGPT_MACHINE=f"machine {rank // 4}")
    running.append(subprocess.Popen(["tgpt-run", sys.argv[1], "--synthetic=1", "--steps=1", "--no-peak"],
                                    env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
errors = [process.communicate(timeout=60)[1] for process in running]
assert [process.returncode for process in running] == [1] * 8
# One on each machine speaks at most.
assert sum(error != "" for error in errors) <= 2, errors
print(errors[0], end="")
