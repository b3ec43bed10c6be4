"""check-refined.py PLANS SIMULATION: of what was tried the fastest is the first row; it was simulated as it was written."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    winner = json.load(file)["plans"][0]
with open(sys.argv[2], encoding="utf-8") as file:
    simulated = json.load(file)
tried = winner["tried"]
assert len(tried) > 1, tried
assert {plan["choices"]["prefetch"] for plan in tried} >= {1, 2}, tried
assert tried[0]["choices"]["prefetch"] == 1 and "refusal" not in tried[0], tried[0]
fastest = min((plan for plan in tried if "seconds" in plan), key=lambda plan: plan["seconds"])
assert winner["choices"] == fastest["choices"], (winner["choices"], fastest)
assert winner["compiled"]["seconds"] == fastest["seconds"], (winner["compiled"], fastest)
assert winner["compiled"]["bytes"] == fastest["bytes"], (winner["compiled"], fastest)
assert simulated["step_seconds"] == winner["compiled"]["seconds"], simulated
