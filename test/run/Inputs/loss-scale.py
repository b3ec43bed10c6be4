#===- loss-scale.py - compare the metrics of a loss-scaled run and its resumed twin ---*- Python -*-===#
#
# Part of tgpt, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
#===----------------------------------------------------------------------===#
#
# usage: loss-scale.py <metrics of the unbroken run> <metrics of the resumed run>
#
# All but the times must agree, the scale must halve where the norm is not finite and
# double after three good steps, and both must have happened.
#
#===----------------------------------------------------------------------===#
import json
import sys

unbroken, resumed = ([json.loads(line) for line in open(path)] for path in sys.argv[1:3])
for field in ("step", "loss", "grad_norm", "lr", "tokens", "loss_scale", "skipped_steps"):
    assert [line[field] for line in unbroken] == [line[field] for line in resumed], field
scale, good, skipped, grown = 1048576, 0, 0, 0
for line in unbroken:
    assert line["loss_scale"] == scale, line
    if line["grad_norm"] is None:
        scale, good, skipped = scale / 2, 0, skipped + 1
    else:
        good += 1
        if good == 3:
            scale, good, grown = scale * 2, 0, grown + 1
    assert line["skipped_steps"] == skipped, line
assert skipped >= 3 and grown >= 1, (skipped, grown)
