#===- with-port.py - runs a command with a port of its own ---*- Python -*-===#
#
# Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# usage: with-port.py <command> <argument>...
#
# MASTER_PORT is a port on which the command alone may listen, whatever else runs on this machine.
#
#===----------------------------------------------------------------------===#
import os
import subprocess
import sys

from launched import ReservedPort

with ReservedPort() as port:
    sys.exit(subprocess.run(sys.argv[1:], env=dict(os.environ, MASTER_PORT=port), check=False).returncode)
