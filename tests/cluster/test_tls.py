# SPDX-License-Identifier: Apache-2.0
"""Clusters whose tasks and clients show certificates to each other. Needs the openssl program."""
import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import millstream as tf
with tf.device("/job:ps/task:0"):
    v = tf.Variable(tf.ones([3000, 1000]))
with tf.device("/job:worker/task:0"):
    total = tf.reduce_sum(v * 2.0)
config = tf.ConfigProto(operation_timeout_in_ms=5000)
with tf.Session(sys.argv[1], config=config) as session:
    session.run(v.initializer)
    for _ in range(5):
        print(float(session.run(total)))
"""


def _is_refused(client, environment):
    done = subprocess.run(client, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode != 0 and ("Unavailable" in done.stderr or "DeadlineExceeded" in done.stderr), done.stderr


@pytest.mark.parametrize("links", ["shm", "grpc"])
def test_mutual_tls(make_cluster, certificates, monkeypatch, links):
    for name, path in certificates.items():
        monkeypatch.setenv(name, path)
    monkeypatch.setenv("MILLSTREAM_LINKS", links)
    cluster = make_cluster(ps=1, worker=1)
    client = [sys.executable, "-c", SCRIPT, cluster.target("worker")]
    done = subprocess.run(client, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["6000000.0"] * 5, done.stderr
    plain = {k: v for k, v in os.environ.items() if not k.startswith("MILLSTREAM_TLS")}
    _is_refused(client, plain)
    nameless = dict(os.environ)
    del nameless["MILLSTREAM_TLS_CERT"], nameless["MILLSTREAM_TLS_KEY"]
    _is_refused(client, nameless)
