#!/usr/bin/env python3
"""measure.py COMMAND ...: runs it and prints its wall time and peak memory."""
import resource
import subprocess
import sys
import time

start = time.monotonic()
status = subprocess.run(sys.argv[1:], check=False).returncode
seconds = time.monotonic() - start
peak_bytes = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
print(f"{seconds:.2f} s wall, {peak_bytes / 2**20:.0f} MiB peak")
sys.exit(status)
