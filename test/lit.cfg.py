# The lit suite: every .mlir file under test/ but for the unit and e2e folders.
import ctypes
import os
import shutil
import subprocess
import sys

import lit.formats
from lit.llvm import llvm_config

config.name = "tgpt"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "e2e", "reference", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tgpt_obj_root, "test")

llvm_config.with_environment("PATH", config.llvm_tools_dir, append_path=True)
llvm_config.with_environment("PATH", config.tgpt_tools_dir, append_path=True)
config.substitutions.append(("%recipes", os.path.join(config.tgpt_src_root, "recipes")))
config.substitutions.append(("%src_root", config.tgpt_src_root))
config.substitutions.append(("%obj_root", config.tgpt_obj_root))
config.substitutions.append(("%{python}", sys.executable))



def may_trace():
    """Whether a process may stop its children, as debuggers do: kernels and containers may forbid it."""
    PTRACE_SEIZE = 0x4206
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    try:
        ptrace = ctypes.CDLL(None).ptrace
        ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        ptrace.restype = ctypes.c_long
        return ptrace(PTRACE_SEIZE, child.pid, None, None) == 0
    finally:
        child.kill()
        child.wait()


if may_trace():
    config.available_features.add("ptrace")

if config.tgpt_asan:
    config.available_features.add("asan")
if shutil.which("mpirun"):
    config.available_features.add("mpirun")
