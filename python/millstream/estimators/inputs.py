# SPDX-License-Identifier: Apache-2.0
"""Input functions over arrays in memory."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

import numpy as np

from millstream.datasets import dataset_ops
from millstream.framework import dtypes, tensor_shape
from millstream.ops import nest

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike


def _take(data, rows):
    return nest.map_structure(lambda a: a[rows], data)


def numpy_input_fn(x: TensorLike, y: Any = None, batch_size: Any = 128, num_epochs: Any = 1, shuffle: Any = None,
                   queue_capacity: Any = 1000, num_threads: Any = 1) -> Any:
    """Batches of rows of `x` (an array or a dict of arrays), with those of `y`; ends after `num_epochs` (None: never)."""
    if not isinstance(shuffle, bool):
        raise ValueError(f"shuffle must be provided and explicitly set as boolean (it is recommended to set it as True for training); "
                         f"got {shuffle}")
    columns = collections.OrderedDict(x) if isinstance(x, dict) else x
    if isinstance(x, dict) and not x:
        raise ValueError("x cannot be an empty dict.")
    if isinstance(y, dict) and not y:
        raise ValueError("y cannot be empty dict, use None instead.")

    def rows(value):
        return {k: np.asarray(v) for k, v in value.items()} if isinstance(value, dict) else np.asarray(value)

    features, labels = rows(columns), None if y is None else rows(y)
    arrays = [a for part in (features, labels) if part is not None for a in (part.values() if isinstance(part, dict) else [part])]
    if len({len(a) for a in arrays}) > 1:
        raise ValueError(f"Length of tensors in x and y is mismatched. All elements in x and y must have the same length; got "
                         f"{[len(a) for a in arrays]}.")

    # Not as constants of the graph: it would be written with every checkpoint.
    data = features if labels is None else (features, labels)
    count = len(arrays[0])

    def batches():
        epoch = 0
        rest = np.empty(0, np.int64)  # rows that did not fill a batch go into the next epoch's first
        while num_epochs is None or epoch < num_epochs:
            rows_now = np.concatenate([rest, np.random.permutation(count) if shuffle else np.arange(count)])
            epoch += 1
            whole = len(rows_now) // batch_size * batch_size
            for begin in range(0, whole, batch_size):
                yield _take(data, rows_now[begin:begin + batch_size])
            rest = rows_now[whole:]
        if len(rest):
            yield _take(data, rest)

    def input_fn():
        types = nest.map_structure(lambda a: dtypes.as_dtype(a.dtype), data)
        shapes = nest.map_structure(lambda a: tensor_shape.TensorShape([None, *a.shape[1:]]), data)
        return dataset_ops.Dataset.from_generator(batches, types, shapes).prefetch(2).make_one_shot_iterator().get_next()
    return input_fn


def pandas_input_fn(x: Any, y: Any = None, batch_size: Any = 128, num_epochs: Any = 1, shuffle: Any = None,
                    queue_capacity: Any = 1000, num_threads: Any = 1, target_column: Any = "target") -> Any:
    """The same over the columns of a DataFrame; `y` is a Series or a DataFrame of the same rows."""
    features = {name: x[name].values for name in x.columns}
    if y is None:
        labels = None
    elif hasattr(y, "columns"):
        labels = {name: y[name].values for name in y.columns}
    else:
        labels = y.values
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)
