# SPDX-License-Identifier: Apache-2.0
"""tf.layers: batch normalization."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import constant_op, dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.math import math_ops
from millstream.ops.nn import nn_norm
from millstream.ops.variables import init_ops, state_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.arguments import smart_bool
from millstream.ops.layers.base import InputSpec, Layer

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import ShapeLike


def _of_replicas():
    """With several replicas each keeps averages of its own, and together they are the mean of those."""
    from millstream.strategies import context
    if context.several_replicas() is None:
        return {}
    from millstream.ops.variables import variables
    return {"synchronization": variables.VariableSynchronization.ON_READ, "aggregation": variables.VariableAggregation.MEAN}


class BatchNormalization(Layer):
    """Normalizes over all axes but `axis`. While training, the statistics are those of the batch, and the updates of the
    moving ones go to the collection UPDATE_OPS; otherwise the moving ones are used."""

    def __init__(self, axis: Any = -1, momentum: Any = 0.99, epsilon: Any = 1e-3, center: bool = True, scale: bool = True,
                 beta_initializer: Any = init_ops.Zeros(), gamma_initializer: Any = init_ops.Ones(),
                 moving_mean_initializer: Any = init_ops.Zeros(), moving_variance_initializer: Any = init_ops.Ones(),
                 beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
                 gamma_constraint: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_momentum: Any = 0.99,
                 fused: Any = None, trainable: Any = True, virtual_batch_size: Any = None, adjustment: Any = None,
                 name: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        if renorm or virtual_batch_size is not None or adjustment is not None:
            raise NotImplementedError("batch_normalization with renorm, virtual_batch_size or adjustment")
        self.axis, self.momentum, self.epsilon, self.center, self.scale = axis, momentum, epsilon, center, scale
        self.beta_initializer, self.gamma_initializer = beta_initializer, gamma_initializer
        self.moving_mean_initializer, self.moving_variance_initializer = moving_mean_initializer, moving_variance_initializer
        self.beta_regularizer, self.gamma_regularizer = beta_regularizer, gamma_regularizer
        self.beta_constraint, self.gamma_constraint = beta_constraint, gamma_constraint
        self.fused = fused

    def build(self, input_shape):
        shape = TensorShape(input_shape)
        if shape.rank is None:
            raise ValueError(f"Input has undefined rank: {shape}")
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        if len(axes) != 1:
            raise NotImplementedError("batch_normalization over several axes")
        axis = axes[0] % shape.rank
        self._axis = axis
        size = shape.as_list()[axis]
        if size is None:
            raise ValueError(f"Input has undefined `axis` dimension. Received input with shape {shape}.")
        self._use_fused = self.fused is not False and shape.rank == 4 and axis in (1, 3)
        if self.fused and not self._use_fused:
            raise ValueError("Batch normalization layers with `fused=True` only support 4D or 5D input tensors.")
        self.input_spec = InputSpec(ndim=shape.rank, axes={axis: size})
        dtype = dtypes.float32 if self.dtype in (None, "float16", "bfloat16") else self.dtype
        self.gamma = self.beta = None

        def constant(value):  # for the fused kernel, which needs both
            return constant_op.constant(value, dtype, shape=[size]) if self._use_fused else None

        if self.scale:
            self.gamma = self.add_weight("gamma", shape=(size,), dtype=dtype, initializer=self.gamma_initializer,
                                         regularizer=self.gamma_regularizer, constraint=self.gamma_constraint,
                                         trainable=True)
        self._gamma_or_ones = constant(1.0) if self.gamma is None else self.gamma
        if self.center:
            self.beta = self.add_weight("beta", shape=(size,), dtype=dtype, initializer=self.beta_initializer,
                                        regularizer=self.beta_regularizer, constraint=self.beta_constraint, trainable=True)
        self._beta_or_zeros = constant(0.0) if self.beta is None else self.beta
        scope = vs.get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)  # the averages are assigned as a whole
        try:
            shared = _of_replicas()
            self.moving_mean = self.add_weight("moving_mean", shape=(size,), dtype=dtype, trainable=False,
                                               initializer=self.moving_mean_initializer, **shared)
            self.moving_variance = self.add_weight("moving_variance", shape=(size,), dtype=dtype, trainable=False,
                                                   initializer=self.moving_variance_initializer, **shared)
        finally:
            scope.set_partitioner(partitioner)
        self.built = True

    def _assign_moving_average(self, variable, value, momentum):
        """variable -= (variable - value) * (1 - momentum)."""
        with ops.name_scope("AssignMovingAvg") as scope, ops.colocate_with(variable):
            dtype = variable.dtype.base_dtype
            decay = math_ops.cast(ops.convert_to_tensor(1.0 - momentum, name="decay"), dtype)
            change = (variable - math_ops.cast(value, dtype)) * decay
            return state_ops.assign_sub(variable, change, name=scope)

    def _fused_call(self, inputs, training):
        data_format = "NHWC" if self._axis == 3 else "NCHW"

        def train():
            return list(nn_norm.fused_batch_norm(inputs, self._gamma_or_ones, self._beta_or_zeros, epsilon=self.epsilon,
                                                 data_format=data_format))

        def infer():
            return list(nn_norm.fused_batch_norm(inputs, self._gamma_or_ones, self._beta_or_zeros, mean=self.moving_mean,
                                                 variance=self.moving_variance, epsilon=self.epsilon, is_training=False,
                                                 data_format=data_format))

        outputs, mean, variance = control_flow_ops.smart_cond(training, train, infer)
        known = smart_bool(training)
        if known is None:
            momentum = control_flow_ops.cond(training, lambda: ops.convert_to_tensor(self.momentum),
                                             lambda: ops.convert_to_tensor(1.0))
        else:
            momentum = ops.convert_to_tensor(self.momentum)
        if known is not False and self.trainable:
            self.add_update(self._assign_moving_average(self.moving_mean, mean, momentum))
            self.add_update(self._assign_moving_average(self.moving_variance, variance, momentum))
        return outputs

    def _plain_call(self, inputs, training):
        rank, dtype = inputs.shape.rank, inputs.dtype.base_dtype
        axes = [i for i in range(rank) if i != self._axis]
        broadcast = [1] * rank
        broadcast[self._axis] = inputs.shape.as_list()[self._axis]

        def wide(v):
            return v if v is None or axes == list(range(rank - 1)) else array_ops.reshape(v, broadcast)

        scale, offset = wide(self.gamma), wide(self.beta)
        mean, variance = self._statistics(inputs, axes, training)
        mean, variance = math_ops.cast(mean, dtype), math_ops.cast(variance, dtype)
        offset = None if offset is None else math_ops.cast(offset, dtype)
        scale = None if scale is None else math_ops.cast(scale, dtype)
        outputs = nn_norm.batch_normalization(inputs, wide(mean), wide(variance), offset, scale, self.epsilon)
        outputs.set_shape(inputs.shape)
        return outputs

    def _statistics(self, inputs, axes, training):
        """Mean and variance, of the batch while training; updates the averages."""
        if smart_bool(training) is False:
            return self.moving_mean, self.moving_variance
        batch = nn_norm.moments(math_ops.cast(inputs, self.moving_mean.dtype.base_dtype), axes)
        averages = self.moving_mean, self.moving_variance
        values = [control_flow_ops.smart_cond(training, lambda b=b: b, lambda a=a: ops.convert_to_tensor(a))
                  for b, a in zip(batch, averages)]
        for average, value in zip(averages, values) if self.trainable else ():
            self.add_update(control_flow_ops.smart_cond(
                training, lambda a=average, v=value: self._assign_moving_average(a, v, self.momentum), lambda a=average: a))
        return values

    def call(self, inputs: Any, training: Any = False) -> Any:
        return (self._fused_call if self._use_fused else self._plain_call)(inputs, training)

    def compute_output_shape(self, input_shape: ShapeLike) -> Any:
        return input_shape


def batch_normalization(inputs: Any, axis: Any = -1, momentum: Any = 0.99, epsilon: Any = 1e-3, center: bool = True,
                        scale: bool = True, beta_initializer: Any = init_ops.Zeros(), gamma_initializer: Any = init_ops.Ones(),
                        moving_mean_initializer: Any = init_ops.Zeros(), moving_variance_initializer: Any = init_ops.Ones(),
                        beta_regularizer: Any = None, gamma_regularizer: Any = None, beta_constraint: Any = None,
                        gamma_constraint: Any = None, training: Any = False, trainable: Any = True, name: Optional[str] = None,
                        reuse: Any = None, renorm: bool = False, renorm_clipping: Any = None, renorm_momentum: Any = 0.99,
                        fused: Any = None, virtual_batch_size: Any = None, adjustment: Any = None) -> Tensor:
    """Normalizes a batch per channel. While training, run the operations of the collection UPDATE_OPS with each step."""
    layer = BatchNormalization(
        axis=axis, momentum=momentum, epsilon=epsilon, center=center, scale=scale, beta_initializer=beta_initializer,
        gamma_initializer=gamma_initializer, moving_mean_initializer=moving_mean_initializer,
        moving_variance_initializer=moving_variance_initializer, beta_regularizer=beta_regularizer,
        gamma_regularizer=gamma_regularizer, beta_constraint=beta_constraint, gamma_constraint=gamma_constraint,
        renorm=renorm, renorm_clipping=renorm_clipping, renorm_momentum=renorm_momentum, fused=fused, trainable=trainable,
        virtual_batch_size=virtual_batch_size, adjustment=adjustment, name=name, _reuse=reuse, _scope=name)
    return layer.apply(inputs, training=training)
