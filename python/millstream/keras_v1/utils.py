# SPDX-License-Identifier: Apache-2.0
"""tf.keras.utils: arrays of labels, batches by number."""
import numpy as np

from millstream.ops.arguments import unsupported


def to_categorical(y, num_classes=None, dtype="float32"):
    """Numbers of classes as rows of 0 and 1."""
    y = np.array(y, dtype="int")
    shape = y.shape[:-1] if y.ndim > 1 and y.shape[-1] == 1 else y.shape
    y = y.ravel()
    out = np.zeros((len(y), num_classes or int(np.max(y)) + 1), dtype=dtype)
    out[np.arange(len(y)), y] = 1
    return out.reshape(shape + (out.shape[1],))


def normalize(x, axis=-1, order=2):
    lengths = np.atleast_1d(np.linalg.norm(x, order, axis))
    lengths[lengths == 0] = 1
    return x / np.expand_dims(lengths, axis)


class Sequence:
    """Batches that can be asked for by number: __len__ and __getitem__."""

    def on_epoch_end(self):
        """After every epoch."""

    def __iter__(self):
        return (self[i] for i in range(len(self)))


def get_custom_objects():
    return _custom


_custom: dict = {}


class CustomObjectScope:
    """with CustomObjectScope({"MyLayer": MyLayer}): configurations may name what is in the dicts."""

    def __init__(self, *args):
        self._given, self._before = args, {}

    def __enter__(self):
        self._before = dict(_custom)
        for names in self._given:
            _custom.update(names)
        return self

    def __exit__(self, *args):
        _custom.clear()
        _custom.update(self._before)


def custom_object_scope(*args):
    return CustomObjectScope(*args)


def get_file(fname, origin, untar=False, cache_dir=None, cache_subdir="datasets", **kwargs):
    """The file, if it is in the folder of Keras's files; nothing is fetched from elsewhere."""
    import os
    unsupported("keras.utils.get_file", untar=untar, **{k: kwargs.pop(k, None) for k in ("md5_hash", "file_hash", "extract")})
    path = os.path.join(cache_dir or os.path.join(os.path.expanduser("~"), ".keras"), cache_subdir, fname)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is not there: put the file of {origin} there")
    return path
