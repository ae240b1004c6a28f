# SPDX-License-Identifier: Apache-2.0
"""Reduces again and again; the rank of the first argument ends itself, by the way of the second: die, raise or leave. The third says in which
session: plain or monitored."""
import os
import sys

import millstream as tf
import millstream.horovod as hvd

hvd.init()
total = hvd.allreduce(tf.ones([1000]), op=hvd.Sum)
with tf.Session() if sys.argv[3] == "plain" else tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0)]) as session:
    for step in range(20):
        if step == 10 and hvd.rank() == int(sys.argv[1]):
            if sys.argv[2] == "die":
                os.kill(os.getpid(), 9)
            if sys.argv[2] == "raise":
                raise RuntimeError("on purpose")
            sys.exit(0)
        try:
            session.run(total)
        except tf.errors.OpError as error:
            print(f"rank {hvd.rank()} got {type(error).__name__}: {error.message}", flush=True)
            sys.exit(3)
