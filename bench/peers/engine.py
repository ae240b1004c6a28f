#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures Millstream beside TensorFlow and PyTorch: same models, optimizers, batches and threads, in alternating rounds.

    make bench-peers                 (installs the peers in a virtual environment of its own, then runs this)
    bench/peers/engine.py --rounds 5 --seconds 3 --threads 2

Prints a table of steps per second (medians over the rounds) with the ratio to the better peer, then JSON lines. Machines are
noisy: the ratios count, not the times.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MODELS = {"softmax": 100, "mlp100": 100, "mlp500": 32, "lenet": 64}
BARS = {"softmax": 2.0, "mlp100": 2.0, "mlp500": 1.5, "lenet": 1.1}


def millstream(args):
    """{metric: value} of one run of the command line tool."""
    values = {}
    for suite in ("train", "executor", "session"):
        command = [str(args.binary), "bench", suite, "--threads", str(args.threads), "--seconds", str(args.seconds)]
        for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
            row = json.loads(line)
            values[row["name"]] = row["value"]
    return values


def peer(name, args):
    command = [sys.executable, str(ROOT / "bench" / "peers" / f"engine_{name}.py"), "--threads", str(args.threads), "--seconds",
               str(args.seconds), "--data", str(ROOT / "data" / "mnist")]
    env = dict(os.environ, OMP_NUM_THREADS=str(args.threads), TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
    out = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
    return {row["name"]: row["value"] for row in map(json.loads, out.splitlines())}


def table(ours, theirs):
    print("| model | Millstream | TensorFlow | PyTorch | ratio to the better | bar |\n|---|---|---|---|---|---|")
    for model, batch in MODELS.items():
        key = f"train/{model}_b{batch}"
        tf, torch = (theirs[p].get(key, float("nan")) for p in ("tensorflow", "torch"))
        ratio = ours[key] / max(tf, torch)
        print(f"| {model}, batch {batch} | {ours[key]:,.0f} | {tf:,.0f} | {torch:,.0f} | {ratio:.2f} | {BARS[model]} |")
    print("\n| executor and session | Millstream | TensorFlow |\n|---|---|---|")
    for key in sorted(k for k in ours if not k.startswith("train/")):
        tf = theirs["tensorflow"].get(key)
        print(f"| {key} | {ours[key]:.3g} | {'' if tf is None else f'{tf:.3g}'} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/bin/millstream")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    runs = {"millstream": [], "tensorflow": [], "torch": []}
    for i in range(args.rounds):
        print(f"round {i + 1} of {args.rounds}", file=sys.stderr)
        runs["millstream"].append(millstream(args))
        for name in ("tensorflow", "torch"):
            runs[name].append(peer(name, args))
    medians = {who: {k: statistics.median(r[k] for r in rows) for k in rows[0]} for who, rows in runs.items()}
    table(medians["millstream"], medians)
    for who, values in medians.items():
        for key, value in values.items():
            print(json.dumps({"name": f"{who}/{key}", "value": value}))


if __name__ == "__main__":
    main()
