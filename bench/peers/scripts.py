#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the same TF1 scripts under TensorFlow and under Millstream, in alternating rounds, and prints tables with ratios and bars.

    bench/peers/scripts.py                       all: local, async, sync, 2 ps, files
    bench/peers/scripts.py --only sync/mlp100 --rounds 5

--tensorflow is a Python with TensorFlow, --millstream one with our package (PYTHONPATH is handed on). The machine should do nothing
else; even then ratios count, not times.
"""
import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "python/tests"))
from ports import free_ports  # noqa: E402
HERE = Path(__file__).resolve().parent
# What must hold at least: our steps per second divided by TensorFlow's.
BARS = {
    "async/softmax": 5, "async/mlp100": 5, "async/mlp500": 3,
    "sync/softmax": 6, "sync/mlp100": 5, "sync/mlp500": 4,
    "local/softmax": 1.8, "local/mlp100": 1.6, "local/mlp500": 1.4, "local/lenet": 1.1,
    "async 2 ps/softmax": None, "async 2 ps/mlp100": None,
}
FILE_BARS = {"save_gb_per_second": "2", "restore_gb_per_second": "4", "held_up_steps": "at most 1", "usual_step_ms": "",
             "records_per_second": "2 x TensorFlow"}
PATIENCE = 90  # seconds for the start and the end of a cluster


class Runner:
    def __init__(self, args, folder):
        self.args, self.folder = args, folder

    def command(self, who, script, *arguments):
        if who == "tensorflow":
            return [self.args.tensorflow, str(HERE / script), *arguments]
        return [self.args.millstream, "-m", "millstream", str(HERE / script), *arguments]

    def start(self, who, script, *arguments):
        env = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", STARTED=str(time.time()))
        return subprocess.Popen(self.command(who, script, *arguments), env=env, stdout=subprocess.PIPE,
                                stderr=self.args.log, text=True)

    @staticmethod
    def read(process, until=None):
        """The values that a script reports, up to the one named `until`."""
        values = {}
        for line in process.stdout:
            if line.startswith("{"):
                values.update(json.loads(line))
            if until in values:
                return values
        if process.wait() != 0 or until:
            raise RuntimeError(f"{' '.join(process.args)} ended with {process.returncode}")
        return values

    def local(self, who, model):
        return self.read(self.start(who, "mnist.py", f"--model={model}", f"--data={self.folder}", f"--seconds={self.args.seconds}"))

    def cluster(self, who, model, sync, ps):
        for mark in Path(self.folder).glob("ready*"):
            mark.unlink()
        hosts = [f"localhost:{p}" for p in free_ports(ps + 2)]
        common = [f"--model={model}", f"--data={self.folder}", f"--seconds={self.args.seconds}", f"--sync={sync}",
                  f"--ps_hosts={','.join(hosts[:ps])}", f"--worker_hosts={','.join(hosts[ps:])}"]
        tasks = [("ps", i) for i in range(ps)] + [("worker", 0), ("worker", 1)]
        processes = [self.start(who, "mnist.py", f"--job_name={job}", f"--task_index={i}", *common) for job, i in tasks]
        watchdog = threading.Timer(PATIENCE + self.args.seconds, lambda: [p.kill() for p in processes])
        watchdog.start()
        try:
            workers = [self.read(p, until="worker_mib") for p in processes[ps:]]
            peaks = [peak_mib(p.pid) for p in processes[:ps]]
        finally:
            watchdog.cancel()
            for p in processes:
                p.kill()
                p.communicate()
        return {"steps_per_second": workers[0]["steps_per_second"], "first_step": max(w["first_step"] for w in workers),
                "worker_mib": max(w["worker_mib"] for w in workers), "ps_mib": max(peaks)}

    def files(self, who, what):
        folder = tempfile.mkdtemp(dir=self.args.tmpfs)
        try:
            if what == "records":
                os.symlink(os.path.join(self.folder, "records.tfrecord"), os.path.join(folder, "records.tfrecord"))
            return self.read(self.start(who, "files.py", what, folder))
        finally:
            shutil.rmtree(folder)

    def run(self, who, name):
        if name.startswith("files/"):
            return self.files(who, name.split("/")[1])
        kind, model = name.split("/")
        if kind == "local":
            return self.local(who, model)
        return self.cluster(who, model, kind == "sync", 2 if "2 ps" in kind else 1)

    def run_until_it_ends(self, who, name, tries=3):
        """A cluster that failed is tried again: TensorFlow's synchronous workers sometimes wait for a token that nobody gives any more."""
        for left in reversed(range(tries)):
            try:
                return self.run(who, name)
            except RuntimeError as error:
                print(f"{name}: {error}", file=sys.stderr, flush=True)
                if not left:
                    raise


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM")) / 1024


def prepare(folder):
    """Data that both read: part of MNIST, and records of 1 KB."""
    source = ROOT / "data" / "mnist"
    with gzip.open(source / "train-images-idx3-ubyte.gz") as f:
        images = np.frombuffer(f.read(16 + 10000 * 784), np.uint8, offset=16).reshape(-1, 784).astype(np.float32) / 255
    with gzip.open(source / "train-labels-idx1-ubyte.gz") as f:
        labels = np.eye(10, dtype=np.float32)[np.frombuffer(f.read(8 + 10000), np.uint8, offset=8)]
    np.save(os.path.join(folder, "images.npy"), images)
    np.save(os.path.join(folder, "labels.npy"), labels)


def write_records(args, folder):
    code = ("import sys, os\nimport tensorflow.compat.v1 as tf\nw = tf.python_io.TFRecordWriter(sys.argv[1])\n"
            "[w.write(os.urandom(1024)) for _ in range(300000)]\nw.close()\n")
    script = os.path.join(folder, "write.py")
    Path(script).write_text(code)
    subprocess.run([args.millstream, "-m", "millstream", script, os.path.join(folder, "records.tfrecord")], check=True)


def median_of(rounds):
    return {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}


def print_tables(results):
    steps = {n: r for n, r in results.items() if not n.startswith("files/")}
    if steps:
        print("| | Millstream steps/s | TensorFlow | ratio | bar | first step s | worker MiB | ps MiB |\n|---|---|---|---|---|---|---|---|")
    for name, (ours, theirs) in steps.items():
        ratio, bar = ours["steps_per_second"] / theirs["steps_per_second"], BARS.get(name)
        cells = [f"{ours['steps_per_second']:,.0f}", f"{theirs['steps_per_second']:,.0f}", f"{ratio:.1f}", str(bar or "")]
        for key in ("first_step", "worker_mib", "ps_mib"):
            digits = 2 if key == "first_step" else 0
            cells.append(f"{ours[key]:.{digits}f} ({theirs[key]:.{digits}f})" if key in ours else "")
        print(f"| {name} | " + " | ".join(cells) + " |")
    rows = [(key, ours[key], theirs[key]) for n, (ours, theirs) in results.items() if n not in steps for key in ours]
    if rows:
        print("\n| | Millstream | TensorFlow | bar |\n|---|---|---|---|")
    for key, ours, theirs in rows:
        print(f"| {key.replace('_', ' ')} | {ours:,.3g} | {theirs:,.3g} | {FILE_BARS[key]} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", default=str(ROOT / ".venv-peers/bin/python"))
    parser.add_argument("--millstream", default=str(ROOT / ".venv-python/bin/python"))
    parser.add_argument("--tmpfs", default="/dev/shm")
    parser.add_argument("--only", default="", help="comma-separated beginnings of names, such as async,local/lenet,files")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--json", default="", help="a file to append the rounds to")
    parser.add_argument("--verbose", action="store_true", help="show what the scripts write to stderr")
    args = parser.parse_args()
    args.log = None if args.verbose else subprocess.DEVNULL
    wanted = args.only.split(",")
    names = [n for n in [*BARS, "files/checkpoint", "files/records"] if any(n.startswith(w) for w in wanted)]
    folder = tempfile.mkdtemp(dir=args.tmpfs)
    try:
        prepare(folder)
        if "files/records" in names:
            write_records(args, folder)
        runner = Runner(args, folder)
        results = {}
        for name in names:
            rounds = {"millstream": [], "tensorflow": []}
            for i in range(args.rounds):
                print(f"{name}, round {i + 1} of {args.rounds}", file=sys.stderr, flush=True)
                for who, list_ in rounds.items():
                    list_.append(runner.run_until_it_ends(who, name))
            if args.json:
                with open(args.json, "a") as f:
                    f.write(json.dumps({"name": name, **rounds}) + "\n")
            results[name] = median_of(rounds["millstream"]), median_of(rounds["tensorflow"])
    finally:
        shutil.rmtree(folder)
    print_tables(results)


if __name__ == "__main__":
    main()
