# SPDX-License-Identifier: Apache-2.0
"""Where a model's batches come from: arrays, datasets, generators, keras.utils.Sequence."""
import numpy as np

from millstream.keras_v1 import state


def _columns(data):
    """A list of arrays with two axes at least."""
    if data is None:
        return None
    if isinstance(data, dict):
        data = list(data.values())
    parts = list(data) if isinstance(data, (list, tuple)) and data and not np.isscalar(data[0]) and hasattr(data[0], "shape") else [data]
    arrays = [np.asarray(getattr(p, "values", p)) for p in parts]
    arrays = [a.astype(state.floatx()) if a.dtype == np.float64 else a for a in arrays]
    return [a[:, None] if a.ndim == 1 else a for a in arrays]


def _weights(sample_weight, class_weight, y):
    if class_weight is not None and y is not None:
        classes = y[0].argmax(-1) if y[0].shape[-1] > 1 else y[0].reshape(len(y[0]), -1)[:, 0].astype(int)
        factors = np.array([class_weight.get(int(c), 1.0) for c in classes], np.float32)
        return [factors if sample_weight is None else factors * np.asarray(sample_weight, np.float32)]
    if sample_weight is None:
        return None
    parts = sample_weight if isinstance(sample_weight, list) else [sample_weight]
    return [np.asarray(w, np.float32) for w in parts]


class Arrays:
    """All samples in memory."""

    def __init__(self, x, y, sample_weight, class_weight, batch_size):
        self.x, self.y = _columns(x), _columns(y)
        self.weights = _weights(sample_weight, class_weight, self.y)
        self.size = batch_size or 32
        lengths = {len(a) for a in self.x + (self.y or []) + (self.weights or [])}
        if len(lengths) > 1:
            raise ValueError(f"All input arrays (x) and target arrays (y) should have the same number of samples. Found: {sorted(lengths)}")
        self.samples = len(self.x[0])

    def _rows(self, rows):
        return tuple(None if part is None else [a[rows] for a in part] for part in (self.x, self.y, self.weights))

    def whole(self):
        return self.x, self.y, self.weights

    def split(self, fraction):
        """(the first, the last part of the samples)."""
        at = int(self.samples * (1.0 - fraction))
        parts = []
        for rows in (slice(0, at), slice(at, None)):
            part = Arrays.__new__(Arrays)
            part.x, part.y, part.weights = self._rows(rows)
            part.size, part.samples = self.size, len(part.x[0])
            parts.append(part)
        return parts

    def batches(self, shuffle, steps):
        order = np.random.permutation(self.samples) if shuffle else np.arange(self.samples)
        count = -(-self.samples // self.size)
        for i in range(count if steps is None else min(count, steps)):
            yield self._rows(order[i * self.size:(i + 1) * self.size])


class Generated:
    """Tuples (x, y) or (x, y, weights) of an iterator; a Sequence is read from its beginning in every epoch."""

    samples = None

    def __init__(self, source, class_weight):
        self._source, self._class_weight = source, class_weight
        self._indexed = hasattr(source, "__getitem__") and hasattr(source, "__len__")
        self._iterator = None

    def _triple(self, item):
        item = item if isinstance(item, tuple) else (item,)
        x, y, weight = (*item, None, None)[:3]
        y = _columns(y)
        return _columns(x), y, _weights(weight, self._class_weight, y)

    def batches(self, shuffle, steps):
        if self._indexed:
            order = np.random.permutation(len(self._source)) if shuffle else np.arange(len(self._source))
            items = (self._source[int(i)] for i in (order if steps is None else np.resize(order, steps)))
        else:
            if steps is None:
                raise ValueError("`steps_per_epoch=None` is only valid for a generator based on the `keras.utils.Sequence` class. Please "
                                 "specify `steps_per_epoch` or use the `keras.utils.Sequence` class.")
            self._iterator = self._iterator or iter(self._source)
            items = (next(self._iterator) for _ in range(steps))
        for item in items:
            yield self._triple(item)
        if self._indexed and hasattr(self._source, "on_epoch_end"):
            self._source.on_epoch_end()


class FromDataset(Generated):
    """The elements of a tf.data.Dataset."""

    def __init__(self, dataset, class_weight):
        from millstream.framework import errors, ops
        iterator = dataset.make_initializable_iterator()
        following, graph = iterator.get_next(), ops.get_default_graph()

        def elements():
            with graph.as_default():
                session = state.get_session()
            session.run(iterator.initializer)
            while True:
                try:
                    yield session.run(following)
                except errors.OutOfRangeError:
                    return
        super().__init__(None, class_weight)
        self._elements = elements

    def batches(self, shuffle, steps):
        if steps is None:  # all elements, from the first
            rows = self._elements()
        else:
            rows = self._iterator = self._iterator or self._elements()
        for index, item in enumerate(rows):
            yield self._triple(item)
            if steps is not None and index + 1 >= steps:
                return


def as_source(x, y=None, sample_weight=None, class_weight=None, batch_size=None):
    if isinstance(x, (Arrays, Generated)):
        return x
    from millstream.datasets import dataset_ops
    if isinstance(x, dataset_ops.Dataset):
        return FromDataset(x, class_weight)
    if y is None and (hasattr(x, "__next__") or (hasattr(x, "__getitem__") and hasattr(x, "on_epoch_end"))):
        return Generated(x, class_weight)
    return Arrays(x, y, sample_weight, class_weight, batch_size)
