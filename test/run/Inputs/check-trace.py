#!/usr/bin/env python3
"""Checks that a file is a trace as Chrome and Perfetto read it, and prints what is in it.

Usage: check-trace.py TRACE.json [OTHER.json]

With a second trace: the ranks of the first must have the same events there, by name, thread and micro-batch.
"""
import collections
import json
import sys

ARGUMENTS = {"segment", "kind", "chunk", "flops", "bytes", "micro_batch", "step"}


def read(path):
    """The complete events of a trace."""
    with open(path, encoding="utf-8") as file:
        trace = json.load(file)
    named, events, ends = set(), [], {}
    for event in trace["traceEvents"]:
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"]
            named.add((event["name"], event["pid"], event["tid"] if event["name"] == "thread_name" else None))
            continue
        assert event["ph"] == "X" and isinstance(event["name"], str), event
        assert event["ts"] >= 0 and event["dur"] >= 0, event
        assert ARGUMENTS <= set(event["args"]), event
        place = ("thread_name", event["pid"], event["tid"])
        assert place in named and ("process_name", event["pid"], None) in named, event
        # Events of a thread follow each other: times are rounded to a nanosecond.
        assert event["ts"] >= ends.get(place, 0) - 0.0021, event
        ends[place] = event["ts"] + event["dur"]
        events.append(event)
    assert trace["otherData"]["source"] in ("measured", "simulated")
    return trace["otherData"]["source"], events


def counts(events, ranks):
    return collections.Counter(
        (e["pid"], e["tid"], e["name"], e["args"]["segment"], e["args"]["micro_batch"], e["args"].get("location"))
        for e in events if e["pid"] in ranks)


def main():
    source, events = read(sys.argv[1])
    ranks = {event["pid"] for event in events}
    steps = {event["args"]["step"] for event in events}
    print(f"{source}: ranks {sorted(ranks)}, steps {sorted(steps)}, {len(events)} events")
    if len(sys.argv) > 2:
        other, others = read(sys.argv[2])
        mine, theirs = counts(events, ranks), counts(others, ranks)
        assert mine == theirs, (mine - theirs, theirs - mine)
        print(f"the same events as {other}")


if __name__ == "__main__":
    main()
