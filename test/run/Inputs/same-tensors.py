"""same-tensors.py A B: both safetensors files hold the same tensors, bit by bit, in whatever order."""
import json
import struct
import sys


def tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], data[8 + length + entry["data_offsets"][0] : 8 + length + entry["data_offsets"][1]])
        for name, entry in header.items()
    }


a, b = (tensors(path) for path in sys.argv[1:])
different = sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
print(f"{len(a)} tensors, {len(different)} differ {' '.join(different)}")
sys.exit(bool(different) or not a)
