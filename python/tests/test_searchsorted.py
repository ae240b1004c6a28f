# SPDX-License-Identifier: Apache-2.0
"""tf.searchsorted beside NumPy's, in rows of several dimensions and in a row too long for a table of all pairs."""

import numpy as np
import pytest

import millstream as tf

RANDOM = np.random.RandomState(3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searches_each_row(side):
    rows = np.sort(RANDOM.randint(0, 50, (3, 4, 20)), -1)
    values = RANDOM.randint(0, 50, (3, 4, 7))
    with tf.Session() as session:
        found = session.run(tf.searchsorted(rows, values, side=side, out_type=tf.int64))
    wanted = [np.searchsorted(r, v, side) for r, v in zip(rows.reshape(-1, 20), values.reshape(-1, 7))]
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found.reshape(-1, 7), wanted)


def test_long_rows_take_no_table_of_pairs():
    row, values = np.sort(RANDOM.rand(200000)), RANDOM.rand(100000)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(tf.searchsorted(row, values)), np.searchsorted(row, values))
