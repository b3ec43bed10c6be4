"""same-losses.py A B BOUND: the losses and gradient norms of two metrics files agree to BOUND, step by step."""
import json
import sys

a, b = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
assert len(a) == len(b) > 0, f"{len(a)} and {len(b)} steps"
for x, y in zip(a, b):
    for key in ("loss", "grad_norm"):
        assert abs(x[key] - y[key]) <= float(sys.argv[3]) * abs(x[key]), f"step {x['step']}: {key} {x[key]} and {y[key]}"
