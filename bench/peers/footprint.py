#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How large, how quick to start: the wheel beside TensorFlow's, one JSON object per line.

    make wheel && tools/setup.sh interop
    bench/peers/footprint.py dist/millstream-*.whl        # TensorFlow is that of .venv; --tensorflow says another Python

Installs the wheel into a virtual environment of its own, which is removed at the end. Numbers are medians; every process is measured as a whole, by
the system. On a machine that is not idle, the processor time tells more than the clock.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FIRST_STEP = """
import {module} as tf
x = tf.placeholder(tf.float32, [None, 784])
y = tf.placeholder(tf.int64, [None])
hidden = tf.nn.relu(tf.matmul(x, tf.get_variable("w", [784, 100])) + tf.get_variable("b", [100]))
logits = tf.matmul(hidden, tf.get_variable("w2", [100, 10])) + tf.get_variable("b2", [10])
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
train = tf.train.AdamOptimizer(0.002).minimize(loss)
import numpy as np
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    session.run(train, {{x: np.zeros((100, 784), "float32"), y: np.zeros(100, "int64")}})
"""
TENSORFLOW = "tensorflow.compat.v1"
QUIET = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TF_ENABLE_ONEDNN_OPTS": "1", "PYTHONWARNINGS": "ignore"}


def say(name, value, unit, bar=None, peer=None):
    line = {"name": name, "value": round(value, 3), "unit": unit}
    if peer is not None:
        line["tensorflow"] = round(peer, 3)
    if bar is not None:
        line.update(bar=bar, ok=value <= bar)
    print(json.dumps(line), flush=True)


def one_run(command):
    """Seconds on the clock, seconds of processors, and MB of a process that must end well."""
    with tempfile.TemporaryFile() as errors:
        start = time.monotonic()
        process = subprocess.Popen(command, env=QUIET, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - start
        if status:
            errors.seek(0)
            raise SystemExit(f"{command[0]} failed: {errors.read().decode()}")
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6


def measure(rounds, command):
    """Medians of what one_run() measures; the first run warms caches and does not count."""
    runs = [one_run(command) for _ in range(rounds + 1)][1:]
    return [statistics.median(column) for column in zip(*runs)]


def folder_mb(python, package):
    where = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"], capture_output=True, text=True, check=True)
    total = 0
    for entry in os.scandir(where.stdout.strip()):
        if entry.name.split("-")[0].split(".")[0] == package:
            for folder, _, files in os.walk(entry.path):
                total += sum(os.lstat(os.path.join(folder, f)).st_size for f in files)
    return total / 1e6


def compare(rounds, ours, theirs):
    """(ours, theirs or None) for each of import, and the first step of a program."""
    result = {}
    for name, program in [("import", "import {module} as tf"), ("import and first use", "import {module} as tf; tf.constant(1)"), ("first step", FIRST_STEP)]:
        for who, python, module in [("ours", ours, "millstream"), ("theirs", theirs, TENSORFLOW)]:
            if python:
                head = "" if module == "millstream" else "import tensorflow as t; t.compat.v1.disable_eager_execution()\n"
                text = head + program.format(module=module)
                result[name, who] = measure(rounds, [python, "-c", text])
    return result


def demo(binary, rounds):
    """The `make demo` job, shortened: seconds to the first step, MB of the ps and of a worker."""
    first, ps, worker = [], [], []
    for _ in range(rounds):
        done = subprocess.run([binary, "train", "--json", "--logdir", "", "--train_steps", "2000"], capture_output=True, text=True, check=True)
        summary = json.loads(done.stdout.splitlines()[-1])
        first.append(summary["first_step_secs"])
        ps.append(summary["tasks"]["ps:0"]["memory_mb"])
        worker.append(summary["tasks"]["worker:0"]["memory_mb"])
    return statistics.median(first), statistics.median(ps), statistics.median(worker)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel")
    parser.add_argument("--tensorflow", default=os.path.join(ROOT, ".venv/bin/python"), help="a Python with TensorFlow; '' for none")
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    theirs = args.tensorflow if args.tensorflow and os.path.exists(args.tensorflow) else None
    if args.tensorflow and not theirs:
        print(f"{args.tensorflow} is not there (tools/setup.sh interop makes it): Millstream alone", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = os.path.join(folder, "bin", "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", args.wheel], check=True)
        say("wheel", os.path.getsize(args.wheel) / 1e6, "MB", bar=40)
        say("installed, without NumPy and protobuf", folder_mb(python, "millstream"), "MB", peer=theirs and folder_mb(theirs, "tensorflow"))
        found = compare(args.rounds, python, theirs)
        for name, bars in [("import", (0.3, None, 80)), ("import and first use", (0.3, None, 80)), ("first step", (None, None, None))]:
            ours, peer = found[name, "ours"], found.get((name, "theirs"), (None, None, None))
            for i, (what, unit) in enumerate([("time of the whole process", "s"), ("its processor time", "s"), ("its largest memory", "MB")]):
                say(f"{name}: {what}", ours[i], unit, bars[i], peer[i])
        first, ps, worker = demo(os.path.join(folder, "bin", "millstream"), args.rounds)
        say("MNIST demo: first step after the launch", first, "s", bar=1.5)
        say("MNIST demo: ps", ps, "MB", bar=60)
        say("MNIST demo: worker", worker, "MB")


if __name__ == "__main__":
    main()
