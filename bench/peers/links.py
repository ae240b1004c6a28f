#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures clusters of Millstream's servers beside TensorFlow's, on this host, in alternating rounds.

    bench/peers/links.py --tensorflow PYTHON --millstream PYTHON --binary build/release/bin/millstream

--tensorflow is a Python with TensorFlow, --millstream one with our package (PYTHONPATH is handed on). Prints a table with the
ratio of TensorFlow's time to ours (medians), for each kind of link. Machines are noisy: the ratios count, not the times.
"""
import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python/tests"))
from ports import free_ports  # noqa: E402
# What must hold at least: TensorFlow's time divided by ours, by kind of link.
BARS = {
    "remote_noop": {"shm": 3},
    "inprocess_ps_noop": {"shm": 10, "tcp": 4, "grpc": 2},
    "push_4k": {"shm": 10}, "pull_4k": {"shm": 10},
    "push_1m": {"shm": 5}, "pull_1m": {"shm": 5},
    "push_100m": {"shm": 4, "tcp": 2}, "pull_100m": {"shm": 4, "tcp": 2},
}


def wait(address):
    host, port = address.rsplit(":", 1)
    for _ in range(600):
        try:
            return socket.create_connection((host, int(port)), 0.2).close()
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"nobody at {address}")


def run(args, framework, client, links):
    """{metric: value} of one round. `client`: whose client drives the servers."""
    values = {}
    python = {"tensorflow": args.tensorflow, "millstream": args.millstream}
    env = dict(os.environ, MILLSTREAM_LINKS=links, CUDA_VISIBLE_DEVICES="")
    script = str(ROOT / "bench" / "peers" / "links_program.py")
    for mode in ("--remote", "--inprocess"):
        if mode == "--remote" and links != "shm":
            continue  # the client's way does not depend on links
        ps, worker = (f"127.0.0.1:{p}" for p in free_ports(2))
        common = ["--ps", ps, "--worker", worker, "--seconds", str(args.seconds)]
        roles = ["ps"] if mode == "--inprocess" else ["ps", "worker"]
        servers = []
        try:
            for role in roles:
                if framework == "tensorflow":
                    command = [python["tensorflow"], script, "--framework", "tensorflow", "--serve", role, *common]
                else:
                    spec = json.dumps({"ps": [ps], "worker": [worker]})
                    command = [args.binary, "server", "--cluster", spec, "--job_name", role, "--task_index", "0"]
                servers.append(subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            for role in roles:
                wait(ps if role == "ps" else worker)
            # A remote client is TensorFlow's own for both; a worker's own session is the framework's.
            who = client if mode == "--remote" else framework
            command = [python[who], script, "--framework", who, mode, *common]
            out = subprocess.run(command, env=env, check=True, capture_output=True, text=True, timeout=600).stdout
            values.update((row["name"], row["value"]) for row in map(json.loads, out.splitlines()))
        finally:
            for server in servers:
                server.kill()
                server.wait()
    return values


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=str(ROOT / ".venv-peers/bin/python"))
    parser.add_argument("--millstream", default=str(ROOT / ".venv-python/bin/python"))
    parser.add_argument("--binary", default=str(ROOT / "build/release/bin/millstream"))
    parser.add_argument("--links", default="shm,tcp,grpc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0)
    args = parser.parse_args()
    kinds = args.links.split(",")
    results = {kind: [] for kind in ["tensorflow", *kinds]}
    for i in range(args.rounds):
        print(f"round {i + 1} of {args.rounds}", file=sys.stderr, flush=True)
        results["tensorflow"].append(run(args, "tensorflow", "tensorflow", "shm"))
        for kind in kinds:
            results[kind].append(run(args, "millstream", "tensorflow", kind))
    median = {kind: {name: statistics.median(r[name] for r in rounds) for name in rounds[0]} for kind, rounds in results.items()}
    print("| | TensorFlow | " + " | ".join(kinds) + " | ratio (bar) |\n|---|---|" + "---|" * (len(kinds) + 1))
    for name, theirs in median["tensorflow"].items():
        unit = "GB/s" if name.endswith("_gbs") else "us"
        cells, ratios = [], []
        for kind in kinds:
            ours = median[kind].get(name)
            cells.append("" if ours is None else f"{ours:.1f}")
            if ours is not None:
                ratio = ours / theirs if unit == "GB/s" else theirs / ours
                bar = BARS.get(name, {}).get(kind)
                ratios.append(f"{kind} {ratio:.1f}" + (f" ({bar})" if bar else ""))
        print(f"| {name} ({unit}) | {theirs:.1f} | " + " | ".join(cells) + f" | {', '.join(ratios)} |")


if __name__ == "__main__":
    main()
