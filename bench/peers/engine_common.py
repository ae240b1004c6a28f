# SPDX-License-Identifier: Apache-2.0
"""What the two peers share: the data in memory and the clock."""
import argparse
import gzip
import json
import statistics
import time
from pathlib import Path

import numpy as np

MODELS = {"softmax": 100, "mlp100": 100, "mlp500": 32, "lenet": 64}
ROUNDS = 15


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--data", type=Path, required=True)
    return parser.parse_args()


def load(folder):
    with gzip.open(folder / "train-images-idx3-ubyte.gz") as f:
        images = np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 784).astype(np.float32) / 255
    with gzip.open(folder / "train-labels-idx1-ubyte.gz") as f:
        labels = np.frombuffer(f.read(), np.uint8, offset=8)
    return images, np.eye(10, dtype=np.float32)[labels]


def report(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def seconds_per_call(total, fn):
    """The median over rounds that together take about `total` seconds."""
    fn()
    calls = 1
    while True:
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        took = time.perf_counter() - start
        if took > total / ROUNDS:
            break
        calls = max(calls + 1, int(calls * min(10, total / ROUNDS / max(took, 1e-9))))
    rounds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in range(calls):
            fn()
        rounds.append((time.perf_counter() - start) / calls)
    return statistics.median(rounds)


class Batches:
    """Batches that lie side by side in memory."""

    def __init__(self, images, labels, size):
        self.images, self.labels, self.size, self.at = images, labels, size, 0

    def __call__(self):
        if self.at + self.size > len(self.images):
            self.at = 0
        rows = slice(self.at, self.at + self.size)
        self.at += self.size
        return self.images[rows], self.labels[rows]
