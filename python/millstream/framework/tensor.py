# SPDX-License-Identifier: Apache-2.0
"""Tensor: one output of an operation."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import dtypes, tensor_shape
from millstream.framework.tensor_shape import TensorShape

if TYPE_CHECKING:
    from millstream.framework.operator_types import TensorOperators
else:
    TensorOperators = object


class OperatorNotAllowedInGraphError(TypeError):
    """A Python operation that needs the value of a tensor, which a graph does not have yet."""


class Tensor(TensorOperators):
    """A symbolic handle to one output of an Operation. Compared by identity; operators build new nodes."""

    __array_priority__ = 100  # NumPy arrays leave binary operators to us

    def __init__(self, op, value_index, dtype):
        self._op = op
        self._value_index = value_index
        self._dtype = dtypes.as_dtype(dtype)
        self._name_cache = None

    @property
    def op(self):
        """The operation whose output this is."""
        return self._op

    @property
    def graph(self):
        """The graph of the tensor."""
        return self._op._graph

    @property
    def dtype(self):
        """The type of the elements."""
        return self._dtype

    @property
    def name(self):
        """The name of the operation, a colon and the number of the output: "add:0"."""
        if self._name_cache is None:
            self._name_cache = f"{self._op._name}:{self._value_index}"
        return self._name_cache

    @property
    def value_index(self):
        """Which output of its operation this is."""
        return self._value_index

    @property
    def device(self):
        """The device that was asked for, or an empty string."""
        return self._op.device

    @property
    def shape(self):
        """The shape as far as it is known while the graph is built."""
        return TensorShape._of_core(self._op._graph._core.shape(self._op._id, self._value_index))

    def get_shape(self):
        """As the property `shape`."""
        return self.shape

    @property
    def _shape(self):
        return self.shape

    @property
    def ndim(self):
        return self.shape.rank

    def _shape_as_list(self):
        shape = self.shape
        return None if shape.rank is None else shape.as_list()

    def _shape_tuple(self):
        shape = self._shape_as_list()
        return None if shape is None else tuple(shape)

    def _rank(self):
        return self.shape.rank

    def set_shape(self, shape):
        """Merges what is known about the shape; ValueError if it does not fit."""
        shape = tensor_shape.as_shape(shape)
        own = self.shape
        if not own.is_compatible_with(shape):
            if own.rank == shape.rank:
                for a, b in zip(own.as_list(), shape.as_list()):
                    if a is not None and b is not None and a != b:
                        raise ValueError(f"Dimension 0 in both shapes must be equal, but are {a} and {b}. Shapes are "
                                         f"{_bracketed(own)} and {_bracketed(shape)}.")
            raise ValueError(f"Shapes must be equal rank, but are {own.rank} and {shape.rank}")
        self._op._graph._core.merge_shape(self._op._id, self._value_index, shape._to_core())

    def consumers(self):
        """The operations that take this tensor as an input."""
        return self._op._graph._consumers_of(self)

    def _as_node_def_input(self):
        return self._op._name if self._value_index == 0 else self.name

    def _id_pair(self):
        return self._op._id, self._value_index

    def _is_graph_tensor(self):
        return True

    def eval(self, feed_dict=None, session=None):
        """The value, computed by `session` or the default session."""
        return _eval(self, feed_dict, self.graph, session)

    def experimental_ref(self):
        return _Reference(self)

    ref = experimental_ref

    def __str__(self):
        shape = self.shape
        known = f", shape={_shape_text(shape)}" if shape.rank is not None else ""
        device = f", device={self.device}" if self.device else ""
        return f'Tensor("{self.name}"{known}, dtype={self.dtype.name}{device})'

    def __repr__(self):
        return f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"

    def __hash__(self):
        return id(self)

    def __eq__(self, other):
        return id(self) == id(other)

    def __ne__(self, other):
        return id(self) != id(other)

    def __copy__(self):
        copied = type(self).__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied

    def __iter__(self):
        raise OperatorNotAllowedInGraphError("Iterating over a symbolic `tf.Tensor` is not allowed: a graph has no values"
                                             " yet. Use tf.unstack() or tf.while_loop().")

    def __len__(self):
        raise TypeError(f"len is not well defined for a symbolic Tensor ({self.name}). Please call `x.shape` rather than "
                        "`len(x)` for shape information.")

    def __bool__(self):
        raise OperatorNotAllowedInGraphError(
            "Using a symbolic `tf.Tensor` as a Python `bool` is not allowed. Use `if t is not None:` instead of `if t:` to"
            " test if a tensor is defined, and tf.cond() to run parts of a graph by a tensor's value.")

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError(f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may "
                                  "indicate that you're trying to pass a Tensor to a NumPy call, which is not supported.")

    @staticmethod
    def _override_operator(operator, func):
        setattr(Tensor, operator, func)


class _Reference:
    """A tensor as a key of a dict."""

    def __init__(self, tensor):
        self._tensor = tensor

    def deref(self):
        return self._tensor

    def __eq__(self, other):
        return isinstance(other, _Reference) and self._tensor is other._tensor

    def __hash__(self):
        return id(self._tensor)


def _bracketed(shape):
    return "[%s]" % ",".join("?" if d is None else str(d) for d in shape.as_list())


def _shape_text(shape):
    return str(shape)


def _eval(tensor, feed_dict, graph, session):
    from millstream.framework import stacks
    if session is None:
        session = stacks.default_session.get_default()
        if session is None:
            raise ValueError("Cannot evaluate tensor using `eval()`: No default session is registered. Use `with "
                             "sess.as_default()` or pass an explicit session to `eval(session=sess)`")
        if session.graph is not graph:
            raise ValueError("Cannot use the default session to evaluate tensor: the tensor's graph is different from the "
                             "session's graph. Pass an explicit session to `eval(session=sess)`.")
    elif session.graph is not graph:
        raise ValueError("Cannot use the given session to evaluate tensor: the tensor's graph is different from the "
                         "session's graph.")
    return session.run(tensor, feed_dict)


def _run_operation(operation, feed_dict, graph, session):
    from millstream.framework import stacks
    if session is None:
        session = stacks.default_session.get_default()
        if session is None:
            raise ValueError("Cannot execute operation using `run()`: No default session is registered. Use `with "
                             "sess.as_default():` or pass an explicit session to `run(session=sess)`")
        if session.graph is not graph:
            raise ValueError("Cannot use the default session to execute operation: the operation's graph is different from "
                             "the session's graph. Pass an explicit session to run(session=sess).")
    elif session.graph is not graph:
        raise ValueError("Cannot use the given session to execute operation: the operation's graph is different from the "
                         "session's graph.")
    session.run(operation, feed_dict)
