#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One cluster, measured: 1 ps + 1 worker of TensorFlow's or of Millstream's servers. Prints JSON lines. See links.py.

    links_program.py --ps HOST:PORT --worker HOST:PORT --remote      a client against a worker in another process
    links_program.py --ps HOST:PORT --worker HOST:PORT --inprocess   the worker's server in this process
    links_program.py --ps HOST:PORT --worker HOST:PORT --serve ps    a server and nothing else
"""
import argparse
import json
import os
import statistics
import time

parser = argparse.ArgumentParser()
parser.add_argument("--framework", choices=["tensorflow", "millstream"], required=True)
parser.add_argument("--ps", required=True)
parser.add_argument("--worker", required=True)
parser.add_argument("--remote", action="store_true")
parser.add_argument("--inprocess", action="store_true")
parser.add_argument("--serve", default="")
parser.add_argument("--seconds", type=float, default=1.0)
args = parser.parse_args()

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
if args.framework == "tensorflow":
    import tensorflow.compat.v1 as tf

    tf.disable_v2_behavior()
    rewriter = tf.GraphOptions()
    rewriter.rewrite_options.disable_meta_optimizer = True
    config = tf.ConfigProto(graph_options=rewriter)
else:
    import millstream as tf

    config = None

CLUSTER = {"ps": [args.ps], "worker": [args.worker]}


def measure(name, session, fetch, unit_bytes=0):
    """Median time of a step, over rounds."""
    run = session.make_callable(fetch)
    for _ in range(5):
        run()
    begin = time.perf_counter()
    run()
    calls = max(1, int(args.seconds / 10 / (time.perf_counter() - begin)))
    rounds = []
    for _ in range(7):
        begin = time.perf_counter()
        for _ in range(calls):
            run()
        rounds.append((time.perf_counter() - begin) / calls)
    seconds = statistics.median(rounds)
    if unit_bytes:
        print(json.dumps({"name": name + "_gbs", "value": unit_bytes / seconds / 1e9, "unit": "GB/s"}), flush=True)
    print(json.dumps({"name": name, "value": seconds * 1e6, "unit": "us"}), flush=True)


def graph():
    fetches = {}
    with tf.device("/job:worker/task:0"):
        fetches["noop"] = tf.no_op()
    with tf.device("/job:ps/task:0"):
        fetches["ps_noop"] = tf.no_op()
    for label, size in (("4k", 1024), ("1m", 262144), ("100m", 25_000_000)):
        # Produced on one side, used on the other; nothing but a scalar comes back.
        with tf.device("/job:ps/task:0"):
            v = tf.Variable(tf.zeros([size]), name="v" + label)
        with tf.device("/job:worker/task:0"):
            fetches["pull_" + label] = tf.identity(v)[0].op
            w = tf.Variable(tf.zeros([size]), name="w" + label)
        with tf.device("/job:ps/task:0"):
            fetches["push_" + label] = tf.identity(w)[0].op
    return fetches


def main():
    if args.serve:
        tf.train.Server(CLUSTER, job_name=args.serve, task_index=0, config=config).join()
    server = tf.train.Server(CLUSTER, job_name="worker", task_index=0, config=config) if args.inprocess else None
    target = server.target if server else "grpc://" + args.worker
    fetches = graph()
    prefix = "inprocess_" if args.inprocess else "remote_"
    with tf.Session(target, config=config) as session:
        session.run(tf.global_variables_initializer())
        measure(prefix + "noop", session, fetches["noop"])
        measure(prefix + "ps_noop", session, fetches["ps_noop"])
        if args.inprocess:
            for way in ("push", "pull"):
                for label, size in (("4k", 4096), ("1m", 1 << 20), ("100m", 100_000_000)):
                    measure(f"{way}_{label}", session, fetches[f"{way}_{label}"], size)
    os._exit(0)


main()
