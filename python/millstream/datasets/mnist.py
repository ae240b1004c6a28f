# SPDX-License-Identifier: Apache-2.0
"""MNIST: read_data_sets() as the tutorials have it. Files of the user's folder come first, then those of the package."""
from __future__ import annotations

import collections
import gzip
import os
import struct
from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import dtypes, random_seed

if TYPE_CHECKING:
    from typing import Any

_FILES = {"train_images": "train-images-idx3-ubyte", "train_labels": "train-labels-idx1-ubyte",
          "test_images": "t10k-images-idx3-ubyte", "test_labels": "t10k-labels-idx1-ubyte"}
Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])


def _embedded_folders():
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root = os.environ.get("MILLSTREAM_SOURCE_DIR")
    yield os.path.join(package, "files", "mnist")
    if root:
        yield os.path.join(root, "data", "mnist")
    yield os.path.join(os.path.dirname(os.path.dirname(package)), "data", "mnist")


def _find(folder, name):
    for place in ([os.fspath(folder)] if folder else []) + list(_embedded_folders()):
        for path in (os.path.join(place, name + ".gz"), os.path.join(place, name)):
            if os.path.exists(path):
                return path
    raise FileNotFoundError(f"{name} is neither in {folder!r} nor in the package")


def _read(path, magic):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        data = f.read()
    got, count = struct.unpack(">II", data[:8])
    if got != magic:
        raise ValueError(f"Invalid magic number {got} in MNIST file: {path}")
    return data, count


def extract_images(f):
    """uint8 [n, rows, columns, 1] of an open file or a path."""
    path = getattr(f, "name", f)
    data, count = _read(path, 2051)
    rows, columns = struct.unpack(">II", data[8:16])
    if len(data) < 16 + count * rows * columns:
        raise ValueError(f"{path} is cut")
    return np.frombuffer(data, np.uint8, count * rows * columns, 16).reshape(count, rows, columns, 1)


def dense_to_one_hot(labels_dense, num_classes):
    out = np.zeros((len(labels_dense), num_classes))
    out[np.arange(len(labels_dense)), labels_dense.ravel()] = 1
    return out


def extract_labels(f, one_hot=False, num_classes=10):
    path = getattr(f, "name", f)
    data, count = _read(path, 2049)
    labels = np.frombuffer(data, np.uint8, count, 8)
    return dense_to_one_hot(labels, num_classes) if one_hot else labels


class DataSet:
    """Images and labels in batches. Pixels stay bytes until a batch is taken."""

    def __init__(self, images, labels, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, seed=None):
        self._dtype = dtypes.as_dtype(dtype).base_dtype
        if self._dtype not in (dtypes.uint8, dtypes.float32):
            raise TypeError(f"Invalid image dtype {dtype!r}, expected uint8 or float32")
        seed1, seed2 = random_seed.get_seed(seed)
        self._random = np.random.RandomState(seed1 if seed is None and seed1 is not None else seed2 if seed is not None else None)
        self._fake, self.one_hot = fake_data, one_hot
        if fake_data:
            self._num_examples, self._bytes, self._labels = 10000, None, None
        else:
            if images.shape[0] != labels.shape[0]:
                raise ValueError(f"images.shape: {images.shape} labels.shape: {labels.shape}")
            self._num_examples = images.shape[0]
            if reshape:
                images = images.reshape(images.shape[0], -1)
            self._bytes, self._labels = images, labels
        self._images = None
        self._epochs_completed = self._index_in_epoch = 0
        self._order = None

    def _scaled(self, images):
        if self._dtype != dtypes.float32 or images.dtype != np.uint8:
            return images
        return np.multiply(images, np.float32(1.0 / 255.0), dtype=np.float32)

    @property
    def images(self):
        if self._images is None:
            self._images = self._scaled(self._bytes)
        return self._images

    @property
    def labels(self):
        return self._labels

    @property
    def num_examples(self):
        return self._num_examples

    @property
    def epochs_completed(self):
        return self._epochs_completed

    def _shuffled(self):
        order = np.arange(self._num_examples)
        self._random.shuffle(order)
        return order

    def next_batch(self, batch_size, fake_data=False, shuffle=True):
        """The next examples; a new order in each epoch."""
        if fake_data or self._fake:
            image = [1] * 784
            label = [1] + [0] * 9 if self.one_hot else 0
            return [image for _ in range(batch_size)], [label for _ in range(batch_size)]
        if self._order is None:
            self._order = self._shuffled() if shuffle else np.arange(self._num_examples)
        start, end = self._index_in_epoch, self._index_in_epoch + batch_size
        if end <= self._num_examples:
            rows, self._index_in_epoch = self._order[start:end], end
        else:
            self._epochs_completed += 1
            rest = self._order[start:]
            self._order = self._shuffled() if shuffle else np.arange(self._num_examples)
            self._index_in_epoch = batch_size - len(rest)
            rows = np.concatenate([rest, self._order[:self._index_in_epoch]])
        return self._scaled(self._bytes[rows]), self._labels[rows]


def read_data_sets(train_dir, fake_data=False, one_hot=False, dtype=dtypes.float32, reshape=True, validation_size=5000,
                   seed=None, source_url=None):
    """train, validation and test."""
    del source_url  # nothing is downloaded
    settings = dict(one_hot=one_hot, dtype=dtype, seed=seed)
    if fake_data:
        make = lambda: DataSet([], [], fake_data=True, **settings)
        return Datasets(train=make(), validation=make(), test=make())
    images, labels = {}, {}
    for part in ("train", "test"):
        path = _find(train_dir, _FILES[part + "_images"])
        print("Extracting", path)
        images[part] = extract_images(path)
        path = _find(train_dir, _FILES[part + "_labels"])
        print("Extracting", path)
        labels[part] = extract_labels(path, one_hot=one_hot)
    if not 0 <= validation_size <= len(images["train"]):
        raise ValueError(f"Validation size should be between 0 and {len(images['train'])}. Received: {validation_size}.")
    settings["reshape"] = reshape
    cut = validation_size
    return Datasets(train=DataSet(images["train"][cut:], labels["train"][cut:], **settings),
                    validation=DataSet(images["train"][:cut], labels["train"][:cut], **settings),
                    test=DataSet(images["test"], labels["test"], **settings))


def load_mnist(train_dir: str = "MNIST-data") -> Any:
    return read_data_sets(train_dir)


def load_data(path="mnist.npz") -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Returns ((train images, labels), (test images, labels)) of MNIST as NumPy arrays of bytes."""
    get = lambda part: (extract_images(_find(None, _FILES[part + "_images"])).reshape(-1, 28, 28),
                        extract_labels(_find(None, _FILES[part + "_labels"])))
    return get("train"), get("test")
