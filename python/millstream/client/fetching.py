# SPDX-License-Identifier: Apache-2.0
"""What a program asks of a session: structures of fetches and dicts of feeds, as names and back."""
import collections.abc
import weakref

import numpy as np

from millstream._core import OpaqueTensor
from millstream.client import tensor_handle
from millstream.framework.indexed_slices import IndexedSlices, IndexedSlicesValue
from millstream.framework.operation import Operation
from millstream.framework.sparse_tensor import SparseTensor, SparseTensorValue
from millstream.framework.tensor import Tensor

_expansions: list = []  # (type, fetch function, feed function): see register_session_run_conversion_functions()


def register_session_run_conversion_functions(tensor_type, fetch_function, feed_function=None,
                                              feed_function_for_partial_run=None):
    """fetch_function(value) returns (list of tensors, function of their values); feed_function(key, value) a list of pairs."""
    for known, *_ in _expansions:
        if issubclass(tensor_type, known):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    _expansions.insert(0, (tensor_type, fetch_function, feed_function, feed_function_for_partial_run))


def key_of(fetches):
    """A hashable key that is equal for equal structures of the same objects."""
    if isinstance(fetches, (Tensor, Operation)):
        return id(fetches)
    if isinstance(fetches, str):
        return fetches
    if isinstance(fetches, (list, tuple)):
        return (type(fetches), *map(key_of, fetches))
    if isinstance(fetches, collections.abc.Mapping):
        return (type(fetches), *((k, key_of(v)) for k, v in fetches.items()))
    return id(fetches)


def feed_key(key):
    return key if isinstance(key, str) else id(key)


class _Leaf:
    """Some of the fetched values, and how to make one value of them."""

    __slots__ = ("indices", "make")

    def __init__(self, indices, make):
        self.indices = indices
        self.make = make

    def build(self, values):
        return self.make([None if i is None else values[i] for i in self.indices])


class _List:
    __slots__ = ("items", "make")

    def __init__(self, items, make):
        self.items = items
        self.make = make

    def build(self, values):
        return self.make([item.build(values) for item in self.items])


def _single(values):
    return values[0]


def _attrs_fields(fetch):
    fields = getattr(type(fetch), "__attrs_attrs__", None)
    return None if fields is None else [f.name for f in fields]


class Fetches:
    """The tensors and operations behind a structure of fetches. `names` are fetched, `targets` only run."""

    def __init__(self, session, fetches, feeds):
        self._graph = session.graph
        self._session = weakref.ref(session)
        self._index = {}
        self._elements = []
        self._operations = {}
        self._tree = self._add(fetches)
        self.targets = list(self._operations)
        fed = {f.tensor: i for i, f in enumerate(feeds)}
        self.names, self._sources = [], []
        for element in self._elements:
            if element in fed:  # what is fed is also what is fetched
                self._sources.append((True, fed[element]))
            else:
                self._sources.append((False, len(self.names)))
                self.names.append(element.name)
        self._plain = not any(is_fed for is_fed, _ in self._sources)

    def _add(self, fetch):
        if fetch is None:
            raise TypeError('Argument `fetch` = None has invalid type "NoneType". Cannot be None')
        if isinstance(fetch, (Tensor, Operation, str)):
            return self._add_element(fetch)
        if isinstance(fetch, (list, tuple)):
            items = [self._add(f) for f in fetch]
            if isinstance(fetch, list):
                return _List(items, list)
            make = getattr(type(fetch), "_make", None)
            return _List(items, type(fetch) if make is None else make)
        if isinstance(fetch, collections.abc.Mapping):
            keys = list(fetch)
            kind = type(fetch)
            return _List([self._add(fetch[k]) for k in keys], lambda values: _mapping(kind, fetch, keys, values))
        fields = _attrs_fields(fetch)
        if fields is not None:
            return _List([self._add(getattr(fetch, f)) for f in fields], lambda values: type(fetch)(*values))
        if isinstance(fetch, SparseTensor):
            parts = [fetch.indices, fetch.values, fetch.dense_shape]
            return self._expanded(parts, lambda v: SparseTensorValue(*v))
        if isinstance(fetch, IndexedSlices):
            parts = [fetch.values, fetch.indices] + ([] if fetch.dense_shape is None else [fetch.dense_shape])
            return self._expanded(parts, lambda v: IndexedSlicesValue(v[0], v[1], v[2] if len(v) > 2 else None))
        for kind, expand, *_ in _expansions:
            if isinstance(fetch, kind):
                tensors, make = expand(fetch)
                return self._expanded(tensors, make)
        return self._add_element(fetch)

    def _expanded(self, tensors, make):
        return _Leaf([self._index_of(t) for t in tensors], make)

    def _add_element(self, fetch):
        index = self._index_of(fetch)
        op = None if index is None else self._elements[index].op
        if op is not None and op.type == "GetSessionHandle":
            session, dtype = self._session, op.inputs[0].dtype.base_dtype
            return _Leaf([index], lambda values: tensor_handle.TensorHandle(values[0], dtype, session()))
        return _Leaf([index], _single)

    def _index_of(self, fetch):
        try:
            element = self._graph.as_graph_element(fetch, allow_tensor=True, allow_operation=True)
        except TypeError as e:
            raise TypeError(f'Argument `fetch` = {fetch} has invalid type "{type(fetch).__name__}" must be a string or '
                            f"Tensor. ({e})") from None
        except ValueError as e:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({e})") from None
        except KeyError as e:
            raise ValueError(f"Argument `fetch` = {fetch} cannot be interpreted as a Tensor. ({e})") from None
        if not self._graph.is_fetchable(element if isinstance(element, Operation) else element.op):
            raise ValueError(f"Operation {element.name!r} has been marked as not fetchable.")
        if isinstance(element, Operation):
            self._operations[element.name] = element
            return None
        index = self._index.get(element)
        if index is None:
            index = self._index[element] = len(self._elements)
            self._elements.append(element)
        return index

    def build(self, outputs, feeds):
        if not self._plain:
            outputs = [np.array(feeds[i]) if is_fed else outputs[i] for is_fed, i in self._sources]
        return self._tree.build(outputs)


def _mapping(kind, original, keys, values):
    pairs = zip(keys, values)
    if kind is collections.defaultdict:
        return collections.defaultdict(original.default_factory, pairs)
    try:
        return kind(pairs)
    except TypeError:
        return dict(zip(keys, values))


class Feed:
    """A tensor that is fed, and which part of the value of its key it gets."""

    __slots__ = ("tensor", "name", "enum", "numpy", "shape", "key", "part", "expand")

    def __init__(self, graph, tensor, key, part=None, expand=None):
        if not graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor.name} may not be fed.")
        self.tensor = tensor
        self.name = tensor.name
        dtype = tensor.dtype.base_dtype
        self.enum = int(dtype)
        self.numpy = None if self.enum in (20, 21) else dtype.as_numpy_dtype
        self.shape = tensor._shape_tuple()
        self.key = key
        self.part = part
        self.expand = expand


def feeds_of(graph, keys):
    """The Feeds for the keys of a feed_dict."""
    feeds = []
    for key in keys:
        if isinstance(key, (SparseTensor, IndexedSlices)):
            if isinstance(key, SparseTensor):
                parts = [key.indices, key.values, key.dense_shape]
            else:
                parts = [p for p in (key.values, key.indices, key.dense_shape) if p is not None]
            feeds += [Feed(graph, tensor, key, i) for i, tensor in enumerate(parts)]
            continue
        expansion = next((e for e in _expansions if isinstance(key, e[0]) and e[2] is not None), None)
        if expansion is not None:
            for i, (tensor, _) in enumerate(expansion[2](key, None)):
                feeds.append(Feed(graph, tensor, key, i, expansion[2]))
            continue
        try:
            tensor = graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
        except (TypeError, ValueError, KeyError) as e:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {e.args[0]}") from None
        feeds.append(Feed(graph, tensor, key))
    return feeds


def feed_values(graph, feeds, feed_dict):
    values = []
    for feed in feeds:
        value = feed_dict[feed.key]
        if feed.part is not None:
            value = feed.expand(feed.key, value)[feed.part][1] if feed.expand is not None else value[feed.part]
        values.append(feed_value(graph, feed, value))
    return values


def feed_value(graph, feed, value):
    """The array that is fed; checks type and shape as TF1 does."""
    if isinstance(value, np.ndarray) and feed.numpy is not None and value.dtype == feed.numpy:
        array = value
    else:
        array = _converted(feed, value)
        if isinstance(array, OpaqueTensor):
            return array
    shape = feed.shape
    if shape is not None and shape != array.shape:
        given = array.shape
        if len(shape) != len(given) or any(a is not None and a != b for a, b in zip(shape, given)):
            raise ValueError(f"Cannot feed value of shape {given!r} for Tensor {feed.name}, which has shape "
                             f"{feed.tensor.shape}")
    return array


def _converted(feed, value):
    if isinstance(value, tensor_handle.TensorHandle):
        if feed.enum != 7 or value._dtype == feed.tensor.dtype:
            return _converted(feed, value.eval())
        value = value.handle
    if isinstance(value, Tensor) or hasattr(value, "_as_graph_element"):
        raise TypeError("The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
                        "strings, lists, numpy ndarrays, or TensorHandles. For reference, the tensor object was "
                        f"{value} which was passed to the argument `feed_dict` with key {feed.tensor}.")
    if feed.numpy is None or isinstance(value, OpaqueTensor):
        if not isinstance(value, OpaqueTensor) or value.dtype != feed.enum:
            raise TypeError(f"The value of a feed for Tensor {feed.name} of type {feed.tensor.dtype.name} must be a fetched "
                            f"value of that type, not {value!r}.")
        return value
    if isinstance(value, int) and feed.enum != 7 and np.dtype(feed.numpy).kind in "iu":
        info = np.iinfo(feed.numpy)
        if not info.min <= value <= info.max:
            raise TypeError(f"Type of feed value {value} with type {type(value)} is not compatible with Tensor type "
                            f"{feed.numpy}. Try explicitly setting the type of the feed tensor to a larger type (e.g. int64).")
    return np.asarray(value, dtype=feed.numpy)
