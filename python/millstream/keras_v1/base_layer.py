# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers.Layer: variables are named by name scopes, calls on Input()s are remembered for Model()."""
from __future__ import annotations

import collections
import inspect
from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import constant_op, dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.keras_v1 import initializers, regularizers, state
from millstream.ops import nest
from millstream.ops.arguments import unsupported
from millstream.ops.array import array_ops
from millstream.ops.layers import base as layers_base
from millstream.ops.variables import variables

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import DTypeLike, ShapeLike, TensorLike

Node = collections.namedtuple("Node", "layer inputs args kwargs outputs")
InputSpec = layers_base.InputSpec


def history(tensor):
    return getattr(tensor, "_keras_history", None)


class Layer(layers_base.Layer):
    """build() makes variables by add_weight(), call() uses them. Layers that are attributes are part of the layer."""

    def __new__(cls, *args, **kwargs):
        made = super().__new__(cls)
        made.__dict__["_made_with"] = (args, kwargs)  # for get_config()
        return made

    def __init__(self, trainable=True, name=None, dtype=None, dynamic=False, **kwargs):
        unsupported(type(self).__name__, dynamic=dynamic)
        self.__dict__["_sublayers"], self.__dict__["_own_trainable"] = [], True
        shape = kwargs.pop("batch_input_shape", None)
        batch = kwargs.pop("batch_size", None)
        if "input_dim" in kwargs and "input_shape" not in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_dim"),)
        if shape is None and kwargs.get("input_shape") is not None:
            given = kwargs["input_shape"]
            shape = (batch, *(given if isinstance(given, (list, tuple)) else (given,)))
        kwargs.pop("input_shape", None)
        self._initial_weights = kwargs.pop("weights", None)
        if kwargs.get("activity_regularizer") is not None:
            kwargs["activity_regularizer"] = regularizers.get(kwargs["activity_regularizer"])
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        if shape is not None:
            self._batch_input_shape = tuple(shape)
        self.supports_masking = False
        self._nodes = []

    # Layers within layers.

    def __setattr__(self, name, value):
        if name != "_sublayers":
            for found in nest.flatten(value) if isinstance(value, (list, tuple, dict)) else [value]:
                if isinstance(found, layers_base.Layer) and found is not self and not any(found is s for s in self._sublayers):
                    self._sublayers.append(found)
        super().__setattr__(name, value)

    @property
    def trainable(self):
        return self._own_trainable

    @trainable.setter
    def trainable(self, value):
        self.__dict__["_own_trainable"] = value
        for layer in self._sublayers:
            layer.trainable = value

    def _gather(self, name):
        out = []
        for layer in self._sublayers:
            out += [x for x in getattr(layer, name) if not any(x is o for o in out)]
        return out

    @property
    def trainable_weights(self) -> Any:
        return list(self._trainable_weights) + self._gather("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> Any:
        own = list(self._non_trainable_weights)
        if not self.trainable:
            own = self._trainable_weights + own
            return own + [w for w in self._gather("weights") if not any(w is o for o in own)]
        return own + self._gather("non_trainable_weights")

    @property
    def weights(self) -> Any:
        return self.trainable_weights + self.non_trainable_weights

    variables = property(lambda self: self.weights)
    trainable_variables = property(lambda self: self.trainable_weights)
    non_trainable_variables = property(lambda self: self.non_trainable_weights)

    @property
    def losses(self) -> Any:
        return [loss() if callable(loss) else loss for loss in self._losses] + self._gather("losses")

    @property
    def updates(self) -> list[Tensor]:
        return (list(self._updates) if self.trainable else []) + self._gather("updates")

    def add_loss(self, losses: TensorLike, inputs: Any = None) -> None:
        self._losses += list(losses) if isinstance(losses, (list, tuple)) else [losses]

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        self._updates += list(updates) if isinstance(updates, (list, tuple)) else [updates]

    # Variables.

    def add_weight(self, name=None, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, constraint=None,
                   partitioner=None, use_resource=None, synchronization=None, aggregation=None, **kwargs):
        del aggregation  # over replicas; there is one
        unsupported("add_weight", partitioner=partitioner, getter=kwargs.pop("getter", None), collections=kwargs.pop("collections", None))
        if set(kwargs) - {"experimental_autocast"}:
            raise TypeError(f"Unknown keyword argument: {sorted(kwargs)}")
        if getattr(synchronization, "name", None) == "ON_READ":
            if trainable:
                raise ValueError("Synchronization value can be set to VariableSynchronization.ON_READ only for non-trainable variables.")
            trainable = False
        shape = () if shape is None else tuple(int(s) for s in TensorShape(shape).as_list())
        dtype = dtypes.as_dtype(dtype or self.dtype or state.floatx())
        if initializer is None:
            initializer = "glorot_uniform" if dtype.is_floating else "zeros"
        make = initializers.get(initializer)
        trainable = True if trainable is None else trainable
        variable = variables.Variable(lambda: make(shape, dtype=dtype), trainable=trainable, name=name or "Variable", dtype=dtype,
                                      use_resource=True if use_resource is None else use_resource, constraint=constraint)
        state.track(variable)
        (self._trainable_weights if trainable else self._non_trainable_weights).append(variable)
        if regularizer is not None:
            with ops.name_scope(f"{variable.op.name.rpartition('/')[2]}/Regularizer"):
                self._losses.append(regularizer(variable))
        return variable

    def add_variable(self, *args: Any, **kwargs: Any) -> Any:
        return self.add_weight(*args, **kwargs)

    def get_weights(self) -> list[Any]:
        return state.get_session().run(self.weights) if self.weights else []

    def set_weights(self, weights: Any) -> None:
        mine = self.weights
        if len(mine) != len(weights):
            raise ValueError(f'You called `set_weights(weights)` on layer "{self.name}" with a  weight list of length {len(weights)}, but '
                             f"the layer was expecting {len(mine)} weights. Provided weights: {str(weights)[:50]}...")
        for variable, value in zip(mine, weights):
            if tuple(variable.shape.as_list()) != np.shape(value):
                raise ValueError(f"Layer weight shape {tuple(variable.shape.as_list())} not compatible with provided weight shape "
                                 f"{np.shape(value)}")
        session = state.get_session()
        for variable, value in zip(mine, weights):
            variable.load(np.asarray(value, variable.dtype.as_numpy_dtype), session)

    # Calls.

    def _accepts(self, name):
        known = self.__dict__.setdefault("_call_arguments", None)
        if known is None:
            known = self.__dict__["_call_arguments"] = inspect.signature(self.call).parameters
        return name in known

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if self.supports_masking else None

    def __call__(self, inputs, *args, **kwargs):
        inputs = nest.map_structure(_tensor, inputs)
        flat = nest.flatten(inputs)
        masks = [getattr(x, "_keras_mask", None) for x in flat]
        mask = None if all(m is None for m in masks) else masks[0] if not nest.is_nested(inputs) else masks
        kwargs = dict(kwargs)
        if mask is not None and self._accepts("mask") and kwargs.get("mask") is None:
            kwargs["mask"] = mask
        training = kwargs.get("training")
        if self._accepts("training") and training is None:
            kwargs.pop("training", None)
            if state.current_training() is not None:
                kwargs["training"] = training = state.current_training()
        self._graph = ops.get_default_graph()
        with ops.name_scope(self._name), state.training_scope(training):
            if not self.built:
                self._build_for(inputs, flat)
            self._assert_input_compatibility(inputs)
            outputs = self.call(inputs, *args, **kwargs)
            outputs = nest.map_structure(lambda x: array_ops.identity(x) if any(x is i for i in flat) else x, outputs)
            if self._activity_regularizer is not None:
                with ops.name_scope("ActivityRegularizer"):
                    self.add_loss([self._activity_regularizer(x) for x in nest.flatten(outputs)])
        self._remember(inputs, flat, args, kwargs, outputs, mask)
        return outputs

    def _build_for(self, inputs, flat):
        self._assert_input_compatibility(inputs)
        if self._dtype is None and flat and hasattr(flat[0], "dtype"):
            found = flat[0].dtype.base_dtype
            self._dtype = found.name if found.is_floating else state.floatx()
        shapes = [x.shape if hasattr(x, "shape") else TensorShape(None) for x in flat]
        self.build(shapes[0] if not nest.is_nested(inputs) else nest.pack_sequence_as(inputs, shapes))
        self.built = True
        if self._initial_weights is not None:
            self.set_weights(self._initial_weights)
            self._initial_weights = None

    def _remember(self, inputs, flat, args, kwargs, outputs, mask):
        if any(history(x) is not None for x in flat):
            node = Node(self, inputs, args, kwargs, outputs)
            self._nodes.append(node)
            for x in nest.flatten(outputs):
                x._keras_history = node
        out_mask = self.compute_mask(inputs, mask)
        if out_mask is not None and not nest.is_nested(outputs):
            outputs._keras_mask = out_mask

    def _one(self, what):
        if not self._nodes:
            raise AttributeError(f"Layer {self.name} has no inbound nodes.")
        return getattr(self._nodes[0], what)

    input = property(lambda self: self._one("inputs"))
    output = property(lambda self: self._one("outputs"))
    input_shape = property(lambda self: _shapes(self.input))
    output_shape = property(lambda self: _shapes(self.output))

    def get_output_at(self, node_index: Any) -> Any:
        return self._nodes[node_index].outputs

    def get_input_at(self, node_index: Any) -> Any:
        return self._nodes[node_index].inputs

    def get_config(self) -> Any:
        config = {"name": self.name, "trainable": self.trainable, "dtype": self.dtype}
        if hasattr(self, "_batch_input_shape"):
            config["batch_input_shape"] = self._batch_input_shape
        from millstream.keras_v1 import configs
        if type(self).get_config is Layer.get_config and configs.needs_config(self):
            raise NotImplementedError("Layers with arguments in `__init__` must override `get_config`.")
        config.update(configs.config_of(self))
        return config

    @classmethod
    def from_config(cls, config: Any) -> Any:
        from millstream.keras_v1 import configs
        return cls(**configs.arguments(config))


def _tensor(x):
    return x if isinstance(x, ops.Tensor) or hasattr(x, "indices") else ops.convert_to_tensor(
        x.astype(state.floatx()) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x)


def _shapes(tensors):
    return nest.map_structure(lambda t: tuple(t.shape.as_list()), tensors) if nest.is_nested(tensors) else tuple(tensors.shape.as_list())


class InputLayer(Layer):
    """Where a model begins."""

    def __init__(self, input_shape: ShapeLike = None, batch_size: Any = None, dtype: Optional[DTypeLike] = None,
                 input_tensor: Any = None, sparse: bool = False, name: Optional[str] = None, **kwargs: Any) -> None:
        shape = kwargs.pop("batch_input_shape", None)
        if shape is None and input_shape is not None:
            shape = (batch_size, *(input_shape if isinstance(input_shape, (list, tuple)) else (input_shape,)))
        super().__init__(name=name or f"input_{state.get_uid('input')}", dtype=dtype or state.floatx(), **kwargs)
        self.built = True
        if input_tensor is None:
            if shape is None:
                raise ValueError("Either `shape`, `batch_shape` or a tensor must be given to an Input.")
            if sparse:
                from millstream.ops.sparse import sparse_ops
                input_tensor = sparse_ops.sparse_placeholder(self.dtype, list(shape), name=self.name)
            else:
                input_tensor = constant_op.placeholder(self.dtype, list(shape), name=self.name)
        else:
            shape = tuple(input_tensor.shape.as_list()) if shape is None else shape
        self._batch_input_shape = tuple(shape)
        self.is_placeholder = True
        node = Node(self, input_tensor, (), {}, input_tensor)
        self._nodes.append(node)
        input_tensor._keras_history = node

    def call(self, inputs: Any) -> Any:
        return inputs

    def get_config(self) -> Any:
        return {"batch_input_shape": self._batch_input_shape, "dtype": self.dtype, "sparse": False, "name": self.name}


def Input(shape: ShapeLike = None, batch_size: Any = None, name: Optional[str] = None, dtype: Optional[DTypeLike] = None,
          sparse: bool = False, tensor: Any = None, batch_shape: Any = None, **kwargs: Any) -> Tensor:
    """A placeholder from which a model can be built."""
    batch_shape = kwargs.pop("batch_input_shape", batch_shape)
    if batch_shape is None and shape is None and tensor is None:
        raise ValueError("Please provide to Input a `shape` or a `tensor` or a `batch_shape` argument. Note that `shape` does not include "
                         "the batch dimension.")
    layer = InputLayer(input_shape=None if shape is None else tuple(TensorShape(shape).as_list()), batch_size=batch_size, name=name,
                       dtype=dtype, sparse=sparse, input_tensor=tensor, batch_input_shape=None if batch_shape is None else
                       tuple(batch_shape))
    return layer._nodes[0].outputs
