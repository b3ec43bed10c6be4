"""First weights as the runtime draws them (runtime/engine/Initializer.h), written anew in numpy.

Philox4x32-10 (Salmon et al., SC11) keyed by seed and parameter name, counted by element pair, then Box-Muller.
"""

import math

import numpy as np

MASK32 = (1 << 32) - 1

# Known answers of the Random123 distribution (kat_vectors): counter, key, result.
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def philox4x32(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * c[0], 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * c[2], 1 << 32)
        c = [high1 ^ c[1] ^ k[0], low1, high0 ^ c[3] ^ k[1], low0]
        k = [(k[0] + 0x9E3779B9) & MASK32, (k[1] + 0xBB67AE85) & MASK32]
    return c


def check_known_answers():
    for counter, key, expected in KNOWN_ANSWERS:
        words = lambda text: [int(word, 16) for word in text.split()]
        assert philox4x32(words(counter), words(key)) == words(expected), counter


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001B3) % (1 << 64)
    return value


def normals(seed, name, count):
    """Standard normals of the first `count` elements of a parameter."""
    key = seed ^ fnv1a64(name)
    values = []
    for pair in range((count + 1) // 2):
        w = philox4x32([pair & MASK32, pair >> 32, 0, 0], [key & MASK32, key >> 32])
        u1 = (((w[0] | w[1] << 32) >> 11) + 1) * 2.0**-53
        u2 = ((w[2] | w[3] << 32) >> 11) * 2.0**-53
        radius = math.sqrt(-2 * math.log(u1))
        values += [radius * math.cos(2 * math.pi * u2), radius * math.sin(2 * math.pi * u2)]
    return np.array(values[:count])


def initial_weight(seed, name, shape, mean, stddev):
    if stddev == 0:
        return np.full(shape, mean)
    return mean + stddev * normals(seed, name, math.prod(shape)).reshape(shape)
