"""check-json.py FILE: the planner's JSON: parts add up, plans are in order, shares too."""
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    report = json.load(file)
assert report["candidates"] == report["evaluated"] + sum(report["refused"].values()), report["refused"]
plans = report["plans"]
assert plans and "compiled" in plans[0]
winner = plans[0]
for plan in plans:
    parts, against = plan["parts"], plan["against_winner"]
    assert abs(sum(parts.values()) - plan["seconds"]) < 1e-9 * max(plan["seconds"], 1), plan
    assert abs(sum(against["parts"].values()) - against["seconds"]) < 1e-9, plan
    assert abs(plan["seconds"] - winner["seconds"] - against["seconds"]) < 1e-12, plan
    choices = plan["choices"]
    assert choices["tp"] * choices["pp"] * choices["dp"] == report["gpus"], choices
    assert choices["dp"] * choices["micro_batches"] * choices["micro_batch_samples"] == report["global_batch"], choices
    assert plan["command"].startswith("tgpt-opt "), plan["command"]
compiled = [plan["compiled"]["seconds"] for plan in plans if "compiled" in plan]
assert compiled == sorted(compiled), compiled
closed = [plan["seconds"] for plan in plans if "compiled" not in plan]
assert closed == sorted(closed), closed
