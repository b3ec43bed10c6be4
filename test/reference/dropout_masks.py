"""Masks as the runtime draws them (runtime/kernels/KERNELS.md), written anew.

Philox4x32-10 keyed by the seed and the XXH3-64 of the stream's name, counted by column / 4, position, sample, step.
"""

import numpy as np
import xxhash

from initial_weights import MASK32, philox4x32


def kept(seed, stream, step, samples, sequence, width, probability):
    """True where an element [sample, position, column] is kept."""
    key = seed ^ xxhash.xxh3_64_intdigest(stream.encode())
    masks = np.zeros((samples, sequence, width), bool)
    for sample, position, column in np.ndindex(masks.shape):
        if column % 4 == 0:
            words = philox4x32([column // 4, position, sample, step], [key & MASK32, key >> 32])
        masks[sample, position, column] = words[column % 4] >= probability * 2.0**32
    return masks
