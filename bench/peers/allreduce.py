#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures our all-reduce beside Open MPI's and Gloo's, on this host, in alternating rounds.

    bench/peers/allreduce.py --binary build/release/bin/millstream [--ranks 2] [--rounds 3]

`millstream bench allreduce --backend` runs the peers, whose programs are built where their packages are installed (Debian: libopenmpi-dev openmpi-bin
libgloo-dev); others are left out. Prints microseconds per operation (medians) and how much faster we are than the best peer. Machines are noisy: the ratios
count.
"""
import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

SIZES = "1K,64K,1M,16M,64M,256M"


def values(output):
    """{size: microseconds} from JSON lines whose names end in a size."""
    records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {record["name"].rsplit("/", 1)[1].removesuffix("B"): record["value"] for record in records}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=False)
    if done.returncode != 0:
        print(" ".join(map(str, command)), done.stderr[-500:], file=sys.stderr)
    return values(done.stdout)


def measure(args, who, transport):
    return run([args.binary, "bench", "allreduce", "--ranks", str(args.ranks), "--transport", transport, "--seconds", str(args.seconds), "--sizes", args.sizes,
                "--backend", who])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/millstream")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--transport", default="shm,tcp")
    args = parser.parse_args()
    folder = Path(args.binary).resolve().parent
    peers = [name for name in ("mpi", "gloo") if (folder / f"allreduce_{name}").exists()]
    for transport in args.transport.split(","):
        # Gloo has TCP alone, which is a peer of shared memory, too.
        rounds = {who: [] for who in ["own", *peers]}
        for _ in range(args.rounds):
            for who, results in rounds.items():
                results.append(measure(args, who, "tcp" if who == "gloo" else transport))
        print(f"{transport}, {args.ranks} ranks: microseconds ({', '.join(rounds)}), best peer / own")
        for size in args.sizes.split(","):
            medians = {who: statistics.median([r[size] for r in results if size in r] or [float("nan")]) for who, results in rounds.items()}
            best = min([value for who, value in medians.items() if who != "own" and value == value], default=float("nan"))
            print(f"{size:>5} " + " ".join(f"{medians[who]:12.1f}" for who in rounds) + f" {best / medians['own']:8.2f}", flush=True)


if __name__ == "__main__":
    main()
