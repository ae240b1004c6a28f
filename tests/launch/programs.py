# SPDX-License-Identifier: Apache-2.0
"""Programs that tests launch, and how to look for what they leave."""
import os
import sys
import time

# Says who it is, in the way of a TF1 program.
SHOW = [sys.executable, "-c", """
import json, os, sys
config = json.loads(os.environ["TF_CONFIG"])
print("args", " ".join(sys.argv[1:]))
print("config", config["task"]["type"], config["task"]["index"], len(config["cluster"]["worker"]))
print("token", len(open(os.environ["MILLSTREAM_TOKEN_FILE"]).read().strip()) if "MILLSTREAM_TOKEN_FILE" in os.environ else None)
"""]

# Counts on a ps until all workers have added 10; ps tasks wait for ever, as tutorials have them do.
TRAIN = """
import argparse, os
import millstream as tf
parser = argparse.ArgumentParser()
for name in ("ps_hosts", "worker_hosts", "job_name"):
    parser.add_argument("--" + name)
parser.add_argument("--task_index", type=int)
flags = parser.parse_args()
cluster = tf.train.ClusterSpec({"ps": flags.ps_hosts.split(","), "worker": flags.worker_hosts.split(",")})
server = tf.train.Server(cluster, job_name=flags.job_name, task_index=flags.task_index)
if flags.job_name == "ps":
    server.join()
with tf.device(tf.train.replica_device_setter(cluster=cluster, worker_device="/job:worker/task:%d" % flags.task_index)):
    total = tf.Variable(0, name="total")
    step = tf.assign_add(total, 1, use_locking=True)
with tf.train.MonitoredTrainingSession(server.target, is_chief=flags.task_index == 0) as session:
    for _ in range(10):
        value = session.run(step)
    while session.run(total) < 10 * cluster.num_tasks("worker"):
        pass
print("reached", 10 * cluster.num_tasks("worker"), flush=True)
"""


def processes_with(mark):
    """Ids of processes that have `mark` on their command line or in their environment."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                text = f.read()
            with open(f"/proc/{pid}/environ", "rb") as f:
                text += f.read()
        except OSError:
            continue
        if mark.encode() in text:
            found.append(int(pid))
    return found


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.05)
