"""A machine with an H200, for scripts/gpu-check.sh: fake-gpu.py FOLDER writes programs into FOLDER that say what those
of a driver, a toolkit and a build would. The fake cmake puts this file in the place of what is built.

    FAKE_GPU_FAILS    a program that ends with an error, or "hang", where the suite of kernels does not end
    FAKE_GPU_LOG      where the command lines of cmake and compute-sanitizer go
    FAKE_GPU_RUN      the real tgpt-run, which reads plans
"""
import os
import stat
import subprocess
import sys
import time

LOSS_ERRORS = {"f64": 0, "f32": 1e-6, "bf16": 1e-3}


def log(line):
    with open(os.environ["FAKE_GPU_LOG"], "a", encoding="utf-8") as file:
        file.write(line + "\n")


def nvidia_smi(arguments):
    print("9.0" if "compute_cap" in arguments[0] else "NVIDIA H200")


def cmake(arguments):
    log("cmake " + " ".join(arguments))
    if arguments[0] != "-S":
        return
    build = arguments[arguments.index("-B") + 1]
    for program in ("bin/tgpt-run", "bin/tgpt-kernel-bench", "test/unit/tgpt_cuda_device_test"):
        write(os.path.join(build, program))


def compute_sanitizer(arguments):
    log("compute-sanitizer " + arguments[0])
    sys.exit(subprocess.call([argument for argument in arguments if not argument.startswith(("--tool", "--error-exitcode"))]))


def device_test(_):
    if os.environ.get("FAKE_GPU_FAILS") == "hang":
        print("[ RUN      ] Kernels/Conformance.EveryBuildIsWithinTheBound/attention", flush=True)
        time.sleep(600)
    print("[  PASSED  ] 12 tests.")


def train(arguments):
    if "--plan-info" in arguments:
        sys.exit(subprocess.call([os.environ["FAKE_GPU_RUN"], *arguments]))
    options = dict(argument.lstrip("-").split("=", 1) for argument in arguments if "=" in argument)
    if "metrics" not in options:
        return
    name = os.path.basename(arguments[0])
    error = next((error for dtype, error in LOSS_ERRORS.items() if dtype in name), 0)
    error *= 2 if options.get("backend") == "cuda" else 1
    with open(options["metrics"], "w", encoding="utf-8") as metrics:
        for step in range(int(options["steps"])):
            metrics.write(f'{{"loss": {4 - 0.01 * step + error}, "step_seconds": 0.05, "tokens_per_second": 327680}}\n')


def bench(_):
    print("bf16, NVIDIA H200, GEMM peak 700000 GFLOP/s, copy 4300 GB/s")
    print("linear (qkv)                              1.000     650000      92%      100       12.0")
    print("adamw                                     0.500                 88%     3784        0.5")


PROGRAMS = {"nvidia-smi": nvidia_smi, "cmake": cmake, "compute-sanitizer": compute_sanitizer, "tgpt-run": train,
            "tgpt-kernel-bench": bench, "tgpt_cuda_device_test": device_test, "nvcc": None, "ninja": None}


def write(path):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec "{sys.executable}" "{os.path.abspath(__file__)}" as {os.path.basename(path)} "$@"\n')
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def main(arguments):
    if arguments[0] != "as":
        for program in ("nvidia-smi", "cmake", "compute-sanitizer", "nvcc", "ninja"):
            write(os.path.join(arguments[0], program))
        return
    program = arguments[1]
    if os.environ.get("FAKE_GPU_FAILS") == program:
        print(f"{program}: error: it has no hands")
        print("  what one would not want to read first")
        sys.exit(1)
    if PROGRAMS[program]:
        PROGRAMS[program](arguments[2:])


main(sys.argv[1:])
