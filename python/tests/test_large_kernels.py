# SPDX-License-Identifier: Apache-2.0
"""Kernels of a GPU against the CPU's, at sizes that recordings are too small for: several blocks, rows longer than a
block, tiles, results too few to keep a GPU busy. Skipped where there is no GPU; the shadow device counts as one."""

import numpy as np
import pytest

import millstream as tf

pytestmark = pytest.mark.skipif(not tf.test.is_gpu_available(), reason="no GPU")

RANDOM = np.random.RandomState(7)


def floats(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


LONG = floats(300001)
ROWS = floats(37, 3000)
COLUMNS = floats(5003, 70)
CUBE = floats(33, 65, 41)
IDS = RANDOM.randint(0, 50, 5003).astype(np.int32)
IMAGES = floats(3, 31, 29, 17)


def pool_gradient(pool):
    x = tf.constant(IMAGES)
    y = pool(x, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="SAME")
    return tf.gradients(tf.reduce_sum(y * y), x)[0]


CASES = {
    "sum_all": lambda: tf.reduce_sum(LONG),
    "mean_rows": lambda: tf.reduce_mean(ROWS, 1),
    "max_columns": lambda: tf.reduce_max(COLUMNS, 0),
    "sum_outer_and_inner": lambda: tf.reduce_sum(CUBE, [0, 2]),
    "prod_middle": lambda: tf.reduce_prod(CUBE * 0.01 + 1, 1),
    "l2_loss": lambda: tf.nn.l2_loss(LONG),
    "argmax_rows": lambda: tf.argmax(ROWS, 1),
    "argmin_columns": lambda: tf.argmin(COLUMNS, 0),
    "softmax_long_rows": lambda: tf.nn.softmax(ROWS),
    "log_softmax_short_rows": lambda: tf.nn.log_softmax(COLUMNS),
    "cross_entropy": lambda: tf.nn.softmax_cross_entropy_with_logits(labels=tf.nn.softmax(ROWS * 3), logits=ROWS),
    "sparse_cross_entropy": lambda: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=IDS, logits=COLUMNS),
    "cumsum_rows": lambda: tf.cumsum(ROWS, axis=1),
    "cumsum_exclusive_reverse": lambda: tf.cumsum(ROWS, axis=1, exclusive=True, reverse=True),
    "cumsum_columns": lambda: tf.cumsum(floats(20, 100, 70), axis=1),
    "transpose": lambda: tf.transpose(CUBE, [2, 0, 1]),
    "transpose_matrix": lambda: tf.transpose(COLUMNS),
    "reverse": lambda: tf.reverse(CUBE, [0, 2]),
    "roll": lambda: tf.roll(CUBE, [5, -7], [0, 2]),
    "tile": lambda: tf.tile(CUBE, [2, 1, 3]),
    "concat": lambda: tf.concat([CUBE, CUBE[:, :7], CUBE[:, :1]], 1),
    "split": lambda: tf.concat(tf.split(CUBE, [1, 40, 24], 1)[::-1], 1),
    "pad": lambda: tf.pad(CUBE, [[1, 2], [0, 3], [5, 0]]),
    "mirror_pad": lambda: tf.pad(CUBE, [[1, 2], [0, 3], [5, 0]], mode="REFLECT"),
    "broadcast_row": lambda: tf.constant(COLUMNS) + COLUMNS[0],
    "broadcast_column": lambda: tf.constant(COLUMNS) * COLUMNS[:, :1],
    "broadcast_middle": lambda: tf.constant(CUBE) - CUBE[:, :1],
    "odd_size": lambda: tf.exp(LONG),
    "gather": lambda: tf.gather(COLUMNS, IDS),
    "segment_sum": lambda: tf.unsorted_segment_sum(COLUMNS, IDS, 50),
    "segment_max": lambda: tf.unsorted_segment_max(COLUMNS, IDS, 50),
    "one_hot": lambda: tf.one_hot(IDS, 50),
    "top_few": lambda: tf.nn.top_k(ROWS, 5).indices,
    "top_many": lambda: tf.nn.top_k(ROWS, 100).values,
    "max_pool_gradient": lambda: pool_gradient(tf.nn.max_pool),
    "avg_pool_gradient": lambda: pool_gradient(tf.nn.avg_pool),
    "resize": lambda: tf.image.resize_bilinear(IMAGES, [77, 50]),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_gpu_agrees_with_cpu(name):
    results = []
    for device in ("/cpu:0", "/gpu:0"):
        with tf.Graph().as_default(), tf.device(device):
            RANDOM.seed(11)
            result = CASES[name]()
            with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
                results.append(session.run(result))
    np.testing.assert_allclose(results[1], results[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("op", ["RandomUniform", "RandomNormal", "TruncatedNormal"])
def test_random_numbers_are_the_cpus(op):
    make = {
        "RandomUniform": tf.random_uniform,
        "RandomNormal": tf.random_normal,
        "TruncatedNormal": tf.truncated_normal,
    }[op]
    results = []
    for device in ("/cpu:0", "/gpu:0"):
        with tf.Graph().as_default(), tf.device(device):
            numbers = make([10007], seed=3)
            with tf.Session() as session:
                results.append([session.run(numbers) for _ in range(3)])
    np.testing.assert_allclose(results[1], results[0], rtol=1e-5, atol=1e-5)
    assert not np.array_equal(results[1][0], results[1][1])
