"""tokens.py FILE COUNT ID: a raw uint16 token file of zeros that ends in ID."""
import struct
import sys

path, count, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
open(path, "wb").write(struct.pack(f"<{count}H", *([0] * (count - 1)), last))
