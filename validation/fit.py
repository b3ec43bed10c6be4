#!/usr/bin/env python3
"""Fits the constants of constants.csv, on fit rows only.

    fit.py products|collectives|steps TGPT_VALIDATE FOLDER [--only=PREFIX,...] [--write]

"products" moves the constants whose source is "fit: products", and so on: kernels first,
steps last; with --only those alone whose names begin so, after a change that touches these
programs only. TGPT_VALIDATE is the built program, FOLDER this one. The program predicts; this only moves
constants (in the logarithm, within the bounds below) to make the weighted mean of a robust
error of log(predicted / measured) least. Rows that repeat a configuration (table, software,
device, group) share one weight, so that a table's size does not decide. Held-out rows
(Observation.h, isHeldOut) are never read. Needs numpy.
"""
import csv
import math
import os
import subprocess
import sys
import tempfile

import numpy as np

# name -> (lowest, highest): outside, a value would mean something else than its name says.
BOUNDS = {
    "sustained_fraction": (0.5, 1.2),
    "power_fraction": (0.4, 1.0),
    "elementwise_traffic": (0.7, 5.0),
    "attention_rate": (0.3, 2.0),
    "tensor_overlap": (0.01, 0.95),
    "data_overlap": (0.01, 0.95),
    "data_bandwidth": (0.02, 1.0),
    "cast_traffic": (1.0, 80.0),
    "remap_bytes_per_second": (1e10, 1e12),
    "send_start_seconds": (1e-5, 2e-3),
    "step_seconds": (1e-4, 1.0),
    "overlap_slowdown": (0.01, 0.25),
    "efficiency": (0.3, 1.0),
    "k_half": (5, 1000),
    "wave_softness": (0.01, 1.0),
    "gemm_memory_fraction": (0.3, 1.0),
    "kernel_start_seconds": (1e-6, 2e-5),
    "node_bytes_per_second": (2e10, 7.5e11),
    "node_reducing_bytes_per_second": (2e11, 9e11),
    "node_latency_seconds": (1e-6, 1e-4),
    "node_fill_seconds": (1e-7, 1e-4),
    "latency_seconds": (1e-6, 1e-4),
    "fill_seconds": (1e-7, 1e-4),
    "attention_forward_flops_per_second": (2e14, 2.5e15),
    "attention_backward_flops_per_second": (2e14, 2.5e15),
}


def read_constants(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def write_constants(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["name", "value", "unit", "source"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


class Fit:
    def __init__(self, what, program, folder, prefixes=("",)):
        self.what, self.program, self.folder = what, program, folder
        self.rows = read_constants(f"{folder}/constants.csv")
        by_name = {row["name"]: row for row in self.rows}
        # A constant "as NAME" follows another one.
        self.free = [row for row in self.rows
                     if row["source"].startswith(f"fit: {what}") and row["name"].startswith(prefixes)]
        self.tied = [(row, by_name[row["source"].split()[1].rstrip(",;")]) for row in self.rows
                     if row["source"].startswith("as ")]
        self.start = np.array([math.log(float(row["value"])) for row in self.free])
        bounds = [BOUNDS[row["name"].rsplit(".", 1)[1]] for row in self.free]
        self.low = np.log([low for low, _ in bounds])
        self.high = np.log([high for _, high in bounds])
        self.weights = None

    def apply(self, point):
        for row, value in zip(self.free, np.exp(point)):
            row["value"] = f"{value:.4g}"
        for row, source in self.tied:
            row["value"] = source["value"]

    def errors(self, point, exact=True):
        self.apply(point)
        if exact:  # digits that a finite difference needs
            for row, value in zip(self.free, np.exp(point)):
                row["value"] = repr(float(value))
            for row, source in self.tied:
                row["value"] = source["value"]
        with tempfile.NamedTemporaryFile("w", suffix=".csv", delete=False) as file:
            path = file.name
        try:
            write_constants(path, self.rows)
            out = subprocess.run([self.program, self.what, self.folder, path], check=True, capture_output=True, text=True)
        finally:
            os.unlink(path)
        rows = [line.split("\t") for line in out.stdout.splitlines()[1:]]
        rows = [row for row in rows if row[3] == "fit"]
        if self.weights is None:
            keys = [(row[0], row[2]) for row in rows]
            self.weights = np.array([1 / math.sqrt(keys.count(key)) for key in keys])
            tables = [row[0] for row in rows]
            totals = {t: sum(w * w for w, k in zip(self.weights, tables) if k == t) for t in set(tables)}
            # A table of twenty configurations weighs as much as four tables of five, not more than its square root.
            self.weights = np.array([w / totals[t] ** 0.25 for w, t in zip(self.weights, tables)])
        return np.array([math.log(float(row[5]) / float(row[4])) for row in rows])

    def cost(self, errors):
        return float(np.sum(self.weights**2 * 2 * 0.05**2 * (np.sqrt(1 + (errors / 0.05) ** 2) - 1)))

    def run(self, iterations=25):
        point, damping = self.start, 1e-2
        errors = self.errors(point)
        print(f"{len(errors)} fit rows, {len(point)} constants, cost {self.cost(errors):.5f}")
        for iteration in range(iterations):
            step = 1e-4
            slopes = np.array([(self.errors(point + step * axis) - errors) / step for axis in np.eye(len(point))]).T
            robust = self.weights / (1 + (errors / 0.05) ** 2) ** 0.25
            a, b = slopes * robust[:, None], errors * robust
            for _ in range(8):
                # The last term keeps a constant that rows say nothing about where it is.
                move = np.linalg.solve(a.T @ a + (damping + 1e-6) * np.eye(len(point)), -a.T @ b)
                tried = np.clip(point + np.clip(move, -0.3, 0.3), self.low, self.high)
                tried_errors = self.errors(tried)
                if self.cost(tried_errors) < self.cost(errors):
                    gain = self.cost(errors) - self.cost(tried_errors)
                    point, errors, damping = tried, tried_errors, max(damping / 4, 1e-5)
                    break
                damping *= 4
            else:
                break
            if gain < 1e-5 * self.cost(errors):
                break
        print(f"after {iteration + 1} iterations: cost {self.cost(errors):.5f}, mean {100 * np.mean(abs(np.expm1(errors))):.2f}%")
        self.apply(point)
        for row, begin in zip(self.free, np.exp(self.start)):
            print(f"  {row['name']:<60} {begin:10.4g} -> {row['value']}")


def main():
    only = [word.removeprefix("--only=") for word in sys.argv if word.startswith("--only=")]
    fit = Fit(*sys.argv[1:4], prefixes=tuple(only[0].split(",")) if only else ("",))
    fit.run()
    if "--write" in sys.argv:
        write_constants(f"{sys.argv[3]}/constants.csv", fit.rows)


if __name__ == "__main__":
    main()
