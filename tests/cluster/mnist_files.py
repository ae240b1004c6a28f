# SPDX-License-Identifier: Apache-2.0
"""MNIST for tests."""
import gzip
import os
import struct

MNIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../data/mnist")


def write_small(folder):
    """A tenth of MNIST, quick to read, as files of a folder."""
    for name, count, size in [("train-images-idx3", 6000, 784), ("train-labels-idx1", 6000, 1), ("t10k-images-idx3", 1000, 784), ("t10k-labels-idx1", 1000, 1)]:
        with gzip.open(f"{MNIST}/{name}-ubyte.gz") as source:
            header = source.read(16 if size > 1 else 8)
            rows = source.read(count * size)
        (folder / f"{name}-ubyte").write_bytes(header[:4] + struct.pack(">i", count) + header[8:] + rows)
