# SPDX-License-Identifier: Apache-2.0
"""tf.layers.Layer: an object that makes its variables when it is first called, in a variable scope of its own."""
from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops import nest
from millstream.ops.variables import variable_scope as vs

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import ShapeLike, TensorLike


def to_snake_case(name):
    text = re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    text = re.sub("([a-z])([A-Z])", r"\1_\2", text).lower()
    return text if text[0] != "_" else "private" + text


class InputSpec:
    """What a layer expects of an input."""

    def __init__(self, dtype: Any = None, shape: Any = None, ndim: Any = None, max_ndim: Any = None, min_ndim: Any = None,
                 axes: Any = None) -> None:
        self.dtype, self.shape, self.max_ndim, self.min_ndim = dtype, shape, max_ndim, min_ndim
        self.ndim = len(shape) if shape is not None else ndim
        self.axes = axes or {}

    def check(self, x: Any, layer: Any) -> None:
        rank = x.shape.rank
        if self.ndim is not None and rank is not None and rank != self.ndim:
            raise ValueError(f"Input 0 of layer {layer} is incompatible with the layer: expected ndim={self.ndim}, found "
                             f"ndim={rank}. Full shape received: {x.shape.as_list()}")
        if self.min_ndim is not None:
            if rank is None:
                raise ValueError(f"Input 0 of layer {layer} is incompatible with the layer: its rank is undefined, but the "
                                 f"layer "
                                 "requires a defined rank.")
            if rank < self.min_ndim:
                raise ValueError(f"Input 0 of layer {layer} is incompatible with the layer: : expected "
                                 f"min_ndim={self.min_ndim}, "
                                 f"found ndim={rank}. Full shape received: {x.shape.as_list()}")
        for axis, size in self.axes.items():
            if rank is not None and x.shape.as_list()[axis] not in (None, size):
                raise ValueError(f"Input 0 of layer {layer} is incompatible with the layer: expected axis {axis} of input "
                                 f"shape to "
                                 f"have value {size} but received input with shape {x.shape.as_list()}")


class Layer:
    """A function with variables: build() makes them from the shape of the first input, call() uses them."""

    def __init__(self, trainable=True, name=None, dtype=None, **kwargs):
        self._scope_given = kwargs.pop("_scope", None)
        self._reuse = kwargs.pop("_reuse", None)
        self._activity_regularizer = kwargs.pop("activity_regularizer", None)
        for key in kwargs:
            if key not in ("input_shape", "batch_input_shape", "batch_size", "weights", "autocast"):
                raise TypeError("Keyword argument not understood:", key)
        self._base_name = to_snake_case(type(self).__name__) if name is None else name
        self._name = name or _unique_layer_name(self._base_name)
        self._given_name = name
        self.trainable = trainable
        self.built = False
        self.stateful = False
        self.input_spec = None
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).name
        self._scope = None
        self._current_scope = None
        self._graph = None
        self._trainable_weights, self._non_trainable_weights = [], []
        self._losses, self._updates = [], []
        if self._scope_given is not None:
            self._set_scope(self._scope_given)

    name = property(lambda self: self._name)
    dtype = property(lambda self: self._dtype)
    activity_regularizer = property(lambda self: self._activity_regularizer)
    updates = property(lambda self: list(self._updates))
    losses = property(lambda self: list(self._losses))
    graph = property(lambda self: self._graph)

    @property
    def scope_name(self) -> Any:
        if self._scope is None:
            raise ValueError(f"No name available for layer scope because the layer \"{self._name}\" has not been used yet. "
                             f"The "
                             "scope name is determined the first time the layer instance is called.")
        return self._scope.name

    @property
    def trainable_weights(self) -> Any:
        return list(self._trainable_weights) if self.trainable else []

    @property
    def non_trainable_weights(self) -> Any:
        return list(self._non_trainable_weights) if self.trainable else self._trainable_weights + self._non_trainable_weights

    weights = property(lambda self: self._trainable_weights + self._non_trainable_weights)
    variables = property(lambda self: self.weights)
    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)

    def _set_scope(self, scope=None):
        if self._scope is not None:
            return
        if self._reuse:  # the scope is that of the variables to be shared
            with vs.variable_scope(scope if scope is not None else self._base_name) as captured:
                self._scope = captured
        else:
            with vs.variable_scope(scope, default_name=self._base_name) as captured:
                self._scope = captured

    def build(self, input_shape: ShapeLike) -> None:
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return inputs

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        raise NotImplementedError

    def count_params(self) -> int:
        return sum(v.shape.num_elements() for v in self.weights)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        updates = updates if isinstance(updates, (list, tuple)) else [updates]
        self._updates += updates
        for update in updates:
            ops.add_to_collection(ops.GraphKeys.UPDATE_OPS, update)

    def add_loss(self, losses: TensorLike, inputs: Any = None) -> None:
        losses = losses if isinstance(losses, (list, tuple)) else [losses]
        self._losses += losses
        for loss in losses:
            ops.add_to_collection(ops.GraphKeys.REGULARIZATION_LOSSES, loss)

    def get_updates_for(self, inputs: Any) -> Any:
        return self.updates

    def get_losses_for(self, inputs: Any) -> Any:
        return self.losses

    def add_weight(self, name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, constraint=None,
                   use_resource=None, synchronization=None, aggregation=None, partitioner=None, **kwargs):
        if set(kwargs) - {"experimental_autocast"}:
            raise TypeError(f"Unknown keyword argument: {sorted(kwargs)}")
        if getattr(synchronization, "name", None) == "ON_READ":  # a value of each replica's own
            if trainable:
                raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables.")
            trainable = False
        trainable = True if trainable is None else trainable
        self._set_scope(None)
        before = set(ops.get_collection(ops.GraphKeys.REGULARIZATION_LOSSES)) if regularizer is not None else None
        reuse = bool(self.built or self._reuse)
        context = contextlib.nullcontext()
        if self._current_scope is None:  # used outside of __call__()
            context = vs.variable_scope(self._scope, reuse=reuse or None, auxiliary_name_scope=False)
        if isinstance(initializer, str):
            from millstream.ops.variables import init_ops
            initializer = init_ops.get(initializer)
        shared = {k: v for k, v in (("synchronization", synchronization), ("aggregation", aggregation)) if v is not None}
        with context:
            variable = vs.get_variable(name, shape=shape, initializer=initializer,
                                       dtype=dtypes.as_dtype(dtype or self.dtype or "float32"),
                                       constraint=constraint, trainable=trainable and self.trainable,
                                       partitioner=partitioner,
                                       use_resource=use_resource, regularizer=regularizer, **shared)
        if before is not None:
            self._losses += [x for x in ops.get_collection(ops.GraphKeys.REGULARIZATION_LOSSES) if x not in before]
        known = self._trainable_weights if trainable else self._non_trainable_weights
        parts = variable._get_variable_list() if hasattr(variable, "_get_variable_list") else [variable]
        known.extend(p for p in parts if not any(p is k for k in known))
        return variable

    add_variable = add_weight

    def _assert_input_compatibility(self, inputs):
        if self.input_spec is None:
            return
        specs = nest.flatten(self.input_spec)
        for spec, x in zip(specs, nest.flatten(inputs)):
            spec.check(x, self._name)

    def __call__(self, inputs, *args, **kwargs):
        scope = kwargs.pop("scope", None)
        self._set_scope(scope)
        self._graph = ops.get_default_graph()
        inputs = nest.map_structure(_as_tensor, inputs)
        reuse = True if self.built else self._reuse
        with vs.variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as current:
            outer, self._current_scope = self._current_scope, current
            try:
                with ops.name_scope(self._scope.original_name_scope or None):
                    if not self.built:
                        self._first_call(inputs)
                    self._assert_input_compatibility(inputs)
                    outputs = self.call(inputs, *args, **kwargs)
                    if self._activity_regularizer is not None:
                        for output in nest.flatten(outputs):
                            with ops.name_scope("ActivityRegularizer"):
                                self.add_loss(self._activity_regularizer(output))
            finally:
                self._current_scope = outer
        return outputs

    def _first_call(self, inputs):
        self._assert_input_compatibility(inputs)
        flat = nest.flatten(inputs)
        if self._dtype is None and flat:
            self._dtype = flat[0].dtype.base_dtype.name
        shapes = [x.shape if hasattr(x, "shape") else TensorShape(None) for x in flat]
        self.build(shapes[0] if not nest.is_nested(inputs) else nest.pack_sequence_as(inputs, shapes))
        self.built = True

    apply = __call__

    def __deepcopy__(self, memo):
        import copy
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        for key, value in self.__dict__.items():
            shallow = key in ("_graph", "_scope", "_current_scope") or key.endswith("weights")
            result.__dict__[key] = copy.copy(value) if shallow else copy.deepcopy(value, memo)
        return result


def _as_tensor(x):
    if ops.is_dense_tensor_like(x) or hasattr(x, "indices"):
        return x if isinstance(x, ops.Tensor) or hasattr(x, "indices") else ops.convert_to_tensor(x)
    return ops.convert_to_tensor(x)


def _unique_layer_name(base):
    counts = ops.get_default_graph().__dict__.setdefault("_layer_names", {})
    counts[base] = counts.get(base, 0) + 1
    return base if counts[base] == 1 else f"{base}_{counts[base] - 1}"
