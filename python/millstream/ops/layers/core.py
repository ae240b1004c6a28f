# SPDX-License-Identifier: Apache-2.0
"""tf.layers: dense, dropout, flatten."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.nn import nn_ops
from millstream.ops.variables import init_ops
from millstream.ops.layers.base import InputSpec, Layer

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import ShapeLike

_ZEROS = init_ops.Zeros


class Dense(Layer):
    """A fully connected layer: activation(inputs * kernel + bias) over the last dimension."""

    def __init__(self, units, activation=None, use_bias=True, kernel_initializer=None, bias_initializer=_ZEROS(),
                 kernel_regularizer=None, bias_regularizer=None, activity_regularizer=None, kernel_constraint=None,
                 bias_constraint=None, trainable=True, name=None, **kwargs):
        super().__init__(trainable=trainable, name=name, activity_regularizer=activity_regularizer, **kwargs)
        self.units, self.activation, self.use_bias = int(units), activation, use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint
        self.input_spec = InputSpec(min_ndim=2)

    def build(self, input_shape):
        size = TensorShape(input_shape).as_list()[-1]
        if size is None:
            raise ValueError("The last dimension of the inputs to `Dense` should be defined. Found `None`.")
        self.input_spec = InputSpec(min_ndim=2, axes={-1: size})
        self.kernel = self.add_weight("kernel", shape=[size, self.units], initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint, trainable=True)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight("bias", shape=[self.units], initializer=self.bias_initializer,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint, trainable=True)
        self.built = True

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.rank
        if rank is not None and rank > 2:
            outputs = linalg_ops.tensordot(inputs, self.kernel, [[rank - 1], [0]])
            outputs.set_shape(inputs.shape.as_list()[:-1] + [self.units])
        else:
            outputs = linalg_ops.matmul(inputs, self.kernel)
        if self.use_bias:
            outputs = nn_ops.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        return TensorShape(TensorShape(input_shape).as_list()[:-1] + [self.units])


def dense(inputs: Any, units: Any, activation: Any = None, use_bias: bool = True, kernel_initializer: Any = None,
          bias_initializer: Any = _ZEROS(), kernel_regularizer: Any = None, bias_regularizer: Any = None,
          activity_regularizer: Any = None, kernel_constraint: Any = None, bias_constraint: Any = None, trainable: Any = True,
          name: Optional[str] = None, reuse: Any = None) -> Tensor:
    """A fully connected layer: activation(inputs * kernel + bias)."""
    layer = Dense(units, activation=activation, use_bias=use_bias, kernel_initializer=kernel_initializer,
                  bias_initializer=bias_initializer, kernel_regularizer=kernel_regularizer,
                  bias_regularizer=bias_regularizer,
                  activity_regularizer=activity_regularizer, kernel_constraint=kernel_constraint,
                  bias_constraint=bias_constraint, trainable=trainable, name=name, _scope=name, _reuse=reuse)
    return layer.apply(inputs)


class Dropout(Layer):
    """Sets a fraction of the inputs to 0 while training, and scales the others up."""

    def __init__(self, rate: Any = 0.5, noise_shape: Any = None, seed: Optional[int] = None, name: Optional[str] = None,
                 **kwargs: Any) -> None:
        super().__init__(name=name, **kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed

    def call(self, inputs: Any, training: Any = False) -> Any:
        inputs = ops.convert_to_tensor(inputs)
        return control_flow_ops.smart_cond(
            training, lambda: nn_ops.dropout(inputs, rate=self.rate, noise_shape=self.noise_shape, seed=self.seed),
            lambda: array_ops.identity(inputs))

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        return input_shape


def dropout(inputs: Any, rate: Any = 0.5, noise_shape: Any = None, seed: Optional[int] = None, training: Any = False,
            name: Optional[str] = None) -> Tensor:
    """Sets a part `rate` of the elements to zero while training, and scales the others up."""
    return Dropout(rate, noise_shape=noise_shape, seed=seed, name=name).apply(inputs, training=training)


class Flatten(Layer):
    """[batch, ...] as [batch, size]."""

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = "channels_last" if data_format is None else data_format
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Any) -> Any:
        rank = inputs.shape.rank
        if self.data_format == "channels_first" and rank is not None and rank > 1:
            inputs = array_ops.transpose(inputs, [0] + list(range(2, rank)) + [1])
        sizes = inputs.shape.as_list()
        if sizes[1:] and all(s is not None for s in sizes[1:]):
            tail = int(np.prod(sizes[1:]))
        else:
            tail = 1 if rank == 1 else -1
        batch = sizes[0] if sizes[0] is not None else -1 if tail != -1 else array_ops.shape(inputs)[0]
        outputs = array_ops.reshape(inputs, [batch, tail])
        outputs.set_shape(self.compute_output_shape(inputs.shape))
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        sizes = TensorShape(input_shape).as_list()
        tail = int(np.prod(sizes[1:])) if all(s is not None for s in sizes[1:]) else None
        return TensorShape([sizes[0], tail])


def flatten(inputs: Any, name: Optional[str] = None, data_format: str = "channels_last") -> Tensor:
    """Makes all dimensions but the first into one."""
    return Flatten(name=name, data_format=data_format).apply(inputs)
