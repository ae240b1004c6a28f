#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains on MNIST with all-reduce beside PyTorch's DistributedDataParallel (gloo), by turns, with one thread in each worker.

    bench/peers/ddp.py --binary build/release/bin/millstream --torch .venv-peers/bin/python

Prints steps per second of 2 workers (medians), how many times PyTorch's that is, and how many times the examples of one single-threaded worker
of ours 2 workers take in a second. Machines are noisy: the ratios count.
"""
import argparse
import json
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FLAGS = {
    "softmax": ["--model", "softmax", "--batch_size", "100"],
    "mlp100": ["--model", "mlp", "--batch_size", "100"],
    "mlp500": ["--model", "mlp", "--hidden_units", "500,500", "--batch_size", "32", "--learning_rate", "0.001"],
    "lenet": ["--model", "lenet", "--batch_size", "64"],
}
# Of one worker, measured on an idle core: how many steps fill the time.
USUAL_STEPS = {"softmax": 12000, "mlp100": 3500, "mlp500": 900, "lenet": 30}
BARS = {"softmax": (4, None), "mlp100": (4, None), "mlp500": (4, 1.8), "lenet": (None, 1.8)}


def ours(args, model, workers):
    steps = max(20, int(USUAL_STEPS[model] * args.seconds))
    command = [args.binary, "train", "--mode", "allreduce", "--ps", "0", "--workers", str(workers), "--threads", "1", "--train_steps", str(steps),
               "--logdir", "", "--json", "--status_port", "-1", *FLAGS[model]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=1800, check=True)
    summary = json.loads(done.stdout.strip().splitlines()[-1])
    return summary["global_step"] / summary["train_secs"]


def ddp(args, model, workers):
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, OMP_NUM_THREADS="1", GLOO_SOCKET_IFNAME="lo", CUDA_VISIBLE_DEVICES="")
        ranks = [subprocess.Popen([args.torch, str(HERE / "ddp_torch.py"), "--model", model, "--rank", str(rank), "--ranks", str(workers),
                                   "--store", f"{folder}/store", "--data", str(ROOT / "data/mnist"), "--seconds", str(args.seconds)],
                                  stdout=subprocess.PIPE, text=True, env=env) for rank in range(workers)]
        outputs = [rank.communicate(timeout=1800)[0] for rank in ranks]
    return json.loads(outputs[0].strip().splitlines()[-1])["steps_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/millstream")
    parser.add_argument("--torch", default=str(ROOT / ".venv-peers/bin/python"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--models", default=",".join(FLAGS))
    args = parser.parse_args()
    print("steps/s:     2 workers   PyTorch DDP     ratio (bar)   1 worker   ratio (bar)")
    for model in args.models.split(","):
        rounds = {"two": [], "peer": [], "one": []}
        for _ in range(args.rounds):
            rounds["two"].append(ours(args, model, 2))
            rounds["peer"].append(ddp(args, model, 2))
            rounds["one"].append(ours(args, model, 1))
        two, peer, one = (statistics.median(values) for values in rounds.values())
        bars = [f"({bar})" if bar else "" for bar in BARS[model]]
        # Each worker takes a batch of its own in a step.
        print(f"{model:10} {two:11.1f} {peer:13.1f} {two / peer:9.2f} {bars[0]:5} {one:10.1f} {2 * two / one:7.2f} {bars[1]}", flush=True)


if __name__ == "__main__":
    main()
