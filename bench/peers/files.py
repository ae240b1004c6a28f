# SPDX-License-Identifier: Apache-2.0
"""A TF1 script, unchanged under TensorFlow and Millstream: speed of checkpoints and TFRecord files in FOLDER; JSON lines.

    files.py checkpoint FOLDER       save and restore 512 MB; how long a save holds up training
    files.py records FOLDER          read records.tfrecord, 1 KB each, by TFRecordDataset
"""
import json
import os
import statistics
import sys
import time

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
tf.logging.set_verbosity(tf.logging.ERROR)

VARIABLES, FLOATS = 16, 8 << 20
ROUNDS = 5


def report(**values):
    print(json.dumps(values), flush=True)


def timed(fn):
    begin = time.perf_counter()
    fn()
    return time.perf_counter() - begin


def checkpoint(folder):
    variables = [tf.get_variable(f"v{i}", [FLOATS], initializer=tf.ones_initializer()) for i in range(VARIABLES)]
    saver, path = tf.train.Saver(max_to_keep=2), os.path.join(folder, "model.ckpt")
    gigabytes = VARIABLES * FLOATS * 4 / 1e9
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        saves = [timed(lambda i=i: saver.save(session, path, global_step=i, write_meta_graph=False)) for i in range(ROUNDS)]
        restores = [timed(lambda: saver.restore(session, tf.train.latest_checkpoint(folder))) for _ in range(ROUNDS)]
        assert session.run(variables[-1])[-1] == 1
    report(save_gb_per_second=gigabytes / statistics.median(saves), restore_gb_per_second=gigabytes / statistics.median(restores))


def hold_up(folder):
    """How much longer the longest step of a training that saves now and then takes than a usual one, in usual steps."""
    def run(**saving):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            w = tf.get_variable("w", [4000, 8000], initializer=tf.ones_initializer())
            x = tf.placeholder(tf.float32, [64, 4000])
            train = tf.train.GradientDescentOptimizer(1e-9).minimize(tf.reduce_sum(tf.matmul(x, w)), global_step=step)
            feed, times = np.full([64, 4000], 0.5, np.float32), []
            hooks = [tf.train.CheckpointSaverHook(folder, **saving)] if saving else []
            with tf.train.MonitoredSession(hooks=hooks) as session:
                for _ in range(60):
                    times.append(timed(lambda: session.run(train, {x: feed})))
        times = times[10:]
        return max(times), statistics.median(times)

    longest, usual = run(save_steps=20)
    report(held_up_steps=longest / usual - 1, usual_step_ms=1e3 * usual)


def records(folder):
    path = os.path.join(folder, "records.tfrecord")
    # Batches, so that what is measured is the reading and not the calls of Session.run.
    batch = tf.data.make_initializable_iterator(tf.data.TFRecordDataset([path]).batch(1000))
    size = tf.size(batch.get_next())
    rates = []
    with tf.Session() as session:
        for _ in range(ROUNDS):
            session.run(batch.initializer)
            count, begin = 0, time.perf_counter()
            while True:
                try:
                    count += int(session.run(size))
                except tf.errors.OutOfRangeError:
                    break
            rates.append(count / (time.perf_counter() - begin))
    report(records_per_second=statistics.median(rates))


if __name__ == "__main__":
    if sys.argv[1] == "checkpoint":
        checkpoint(sys.argv[2])
        hold_up(os.path.join(sys.argv[2], "training"))
    else:
        records(sys.argv[2])
