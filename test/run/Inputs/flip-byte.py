"""flip-byte.py FROM TO OFFSET: copies a file with one byte changed."""
import sys

source, target, offset = sys.argv[1], sys.argv[2], int(sys.argv[3])
data = bytearray(open(source, "rb").read())
data[offset % len(data)] ^= 0xFF
open(target, "wb").write(data)
