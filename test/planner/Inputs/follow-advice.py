"""follow-advice.py MODEL CLUSTER: asks tgpt-plan for what does not fit, and does what it advises, each change alone."""
import json
import subprocess
import sys

MODEL, CLUSTER = sys.argv[1:3]
# Flags that nothing fits, and the kinds of changes that must be advised.
IMPOSSIBLE = [
    ({"gpus": 8, "global-batch": 16, "memory-gib": 0.000615, "tp": 1, "sp": "off"}, {"without", "--gpus", "--memory-gib"}),
    ({"gpus": 8, "global-batch": 64, "memory-gib": 0.000715, "micro-batch-samples": 8}, {"without", "--gpus", "--memory-gib"}),
    # Two choices are to blame, neither alone.
    ({"gpus": 4, "global-batch": 16, "memory-gib": 0.000804, "recompute": "none", "tp": 1}, {"without", "--gpus", "--memory-gib"}),
    ({"gpus": 1, "global-batch": 8, "memory-gib": 0.002}, {"--gpus", "--memory-gib"}),
    ({"gpus": 8, "global-batch": 16, "memory-gib": 0.00001}, {"--memory-gib"}),
]


tried = []


def plan(flags):
    words = [f"--{name}={value}" for name, value in flags.items()]
    command = ["tgpt-plan", MODEL, f"--cluster={CLUSTER}", *words, "--exact=1", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "", (command, done.stderr)
    return done.returncode, json.loads(done.stdout), command


for asked, kinds in IMPOSSIBLE:
    code, report, command = plan(asked)
    assert code == 1 and report["plans"] == [], command
    assert report["closest"]["bytes"] > report["closest"]["limit_bytes"], report["closest"]
    advised = {remedy["change"].split("=")[0].split(" ")[0] for remedy in report["remedies"]}
    assert advised == kinds, (command, report["remedies"])
    for remedy in report["remedies"]:
        followed = dict(asked)
        if remedy["change"].startswith("without "):
            for name in remedy["change"].removeprefix("without ").split(" and "):
                del followed[name.removeprefix("--")]
        else:
            name, value = remedy["change"].removeprefix("--").split("=")
            followed[name] = value
        code, fitting, command = plan(followed)
        assert code == 0, (command, remedy)
        compiled = fitting["plans"][0]["compiled"]
        assert compiled["bytes"] <= float(followed["memory-gib"]) * 2**30, (command, compiled)
        tried.append(remedy["change"])
        print("follows", remedy["change"], "of", asked, "with", fitting["plans"][0]["choices"])
assert len(tried) >= 12 and "without --tp and --recompute" in tried, tried
