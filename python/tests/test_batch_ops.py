# SPDX-License-Identifier: Apache-2.0
"""Rows of several steps in one batch."""
import threading

import millstream as tf

_LONG = 60_000_000


def run_together(session, fetches, feeds):
    """The results of as many steps at the same time."""
    results = [None] * len(feeds)

    def run(i):
        results[i] = session.run(fetches, feeds[i])

    threads = [threading.Thread(target=run, args=[i]) for i in range(len(feeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def batched(x, max_batch_size, function):
    out = tf.raw_ops.Batch(in_tensors=[x], num_batch_threads=1, max_batch_size=max_batch_size, batch_timeout_micros=_LONG,
                           grad_timeout_micros=_LONG)
    return tf.raw_ops.Unbatch(batched_tensor=function(out.batched_tensors[0]), batch_index=out.batch_index, id=out.id,
                              timeout_micros=_LONG)


def test_steps_share_a_batch():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        # Each step gets its own rows back, of a sum over all of them.
        y = batched(x, 6, lambda rows: rows + tf.reduce_sum(rows))
        got = run_together(session, y, [{x: [1.0]}, {x: [2.0, 3.0]}, {x: [4.0, 5.0, 6.0]}])
        assert [g.tolist() for g in got] == [[22.0], [23.0, 24.0], [25.0, 26.0, 27.0]]


def test_gradients():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y = batched(x, 4, lambda rows: rows * rows)
        (grad,) = tf.gradients(y, x)
        got = run_together(session, grad, [{x: [1.0, 2.0]}, {x: [3.0, 4.0]}])
        assert [g.tolist() for g in got] == [[2.0, 4.0], [6.0, 8.0]]
