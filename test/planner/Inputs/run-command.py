"""run-command.py REPORT OUTPUT: runs the first command of the planner's report, but writes its plan to OUTPUT."""
import re
import shlex
import subprocess
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    command = re.search(r"^ *1: (tgpt-opt .*)$", file.read(), re.MULTILINE).group(1)
words = shlex.split(command)
assert words[-2:] == ["-o", "compiled.bin"], words
subprocess.run([*words[:-1], sys.argv[2]], check=True)
