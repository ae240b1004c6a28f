# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers: dense, convolutions, pooling, normalization, embedding, shapes, activations, noise."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.framework.tensor_shape import TensorShape
from millstream.keras_v1 import activations, constraints, initializers, regularizers, state
from millstream.keras_v1.adapt import adapt
from millstream.keras_v1.base_layer import InputSpec, Layer
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops
from millstream.ops.layers import conv as layers_conv, core as layers_core, norm as layers_norm, pool as layers_pool
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.nn import embedding_ops, nn_conv, nn_ops
from millstream.ops.random import random_ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import ShapeLike

_GLOROT = {"kernel_initializer": "glorot_uniform", "bias_initializer": "zeros"}
Dense = adapt("Dense", layers_core.Dense, **_GLOROT)
Conv1D = Convolution1D = adapt("Conv1D", layers_conv.Conv1D, **_GLOROT)
Conv2D = Convolution2D = adapt("Conv2D", layers_conv.Conv2D, **_GLOROT)
Conv3D = Convolution3D = adapt("Conv3D", layers_conv.Conv3D, **_GLOROT)
Conv2DTranspose = Convolution2DTranspose = adapt("Conv2DTranspose", layers_conv.Conv2DTranspose, **_GLOROT)
SeparableConv2D = SeparableConvolution2D = adapt("SeparableConv2D", layers_conv.SeparableConv2D, depthwise_initializer="glorot_uniform",
                                                 pointwise_initializer="glorot_uniform", bias_initializer="zeros")
Flatten = adapt("Flatten", layers_core.Flatten)
MaxPool1D = MaxPooling1D = adapt("MaxPooling1D", layers_pool.MaxPooling1D, pool_size=2, strides=None)
MaxPool2D = MaxPooling2D = adapt("MaxPooling2D", layers_pool.MaxPooling2D, pool_size=(2, 2), strides=None)
MaxPool3D = MaxPooling3D = adapt("MaxPooling3D", layers_pool.MaxPooling3D, pool_size=(2, 2, 2), strides=None)
AvgPool1D = AveragePooling1D = adapt("AveragePooling1D", layers_pool.AveragePooling1D, pool_size=2, strides=None)
AvgPool2D = AveragePooling2D = adapt("AveragePooling2D", layers_pool.AveragePooling2D, pool_size=(2, 2), strides=None)
AvgPool3D = AveragePooling3D = adapt("AveragePooling3D", layers_pool.AveragePooling3D, pool_size=(2, 2, 2), strides=None)


def _phase(training):
    return state.learning_phase() if training is None else training


class BatchNormalization(adapt("BatchNormalization", layers_norm.BatchNormalization)):  # type: ignore[misc]  # made by a function
    def call(self, inputs: Any, training: Any = None) -> Any:
        return super().call(inputs, training=_phase(training))


class Dropout(adapt("Dropout", layers_core.Dropout)):  # type: ignore[misc]
    def __init__(self, rate: Any, noise_shape: Any = None, seed: Optional[int] = None, **kwargs: Any) -> None:
        super().__init__(rate=rate, noise_shape=noise_shape, seed=seed, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        return super().call(inputs, training=_phase(training))


class SpatialDropout2D(Dropout):
    """Drops whole channels."""

    def __init__(self, rate: Any, data_format: Any = None, **kwargs: Any) -> None:
        super().__init__(rate, **kwargs)
        self.data_format = data_format or state.image_data_format()

    def call(self, inputs: Any, training: Any = None) -> Any:
        sizes = array_ops.shape(inputs)
        first = self.data_format == "channels_first"
        self.noise_shape = [sizes[0], sizes[1], 1, 1] if first else [sizes[0], 1, 1, sizes[3]]
        return super().call(inputs, training)


class DepthwiseConv2D(Layer):
    def __init__(self, kernel_size, strides=(1, 1), padding="valid", depth_multiplier=1, data_format=None, activation=None, use_bias=True,
                 depthwise_initializer="glorot_uniform", bias_initializer="zeros", depthwise_regularizer=None, bias_regularizer=None,
                 depthwise_constraint=None, bias_constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.kernel_size = layers_conv.normalize_tuple(kernel_size, 2, "kernel_size")
        self.strides = layers_conv.normalize_tuple(strides, 2, "strides")
        self.padding, self.data_format = layers_conv.normalize_padding(padding), layers_conv.normalize_data_format(data_format)
        self.depth_multiplier, self.activation, self.use_bias = depth_multiplier, activations.get(activation), use_bias
        self._kernel = (initializers.get(depthwise_initializer), regularizers.get(depthwise_regularizer),
                        constraints.get(depthwise_constraint))
        self._bias = (initializers.get(bias_initializer), regularizers.get(bias_regularizer), constraints.get(bias_constraint))
        self.input_spec = InputSpec(ndim=4)

    def build(self, input_shape: ShapeLike) -> None:
        channels = TensorShape(input_shape).as_list()[1 if self.data_format == "channels_first" else -1]
        self.depthwise_kernel = self.add_weight("depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier],
                                                initializer=self._kernel[0], regularizer=self._kernel[1], constraint=self._kernel[2])
        if self.use_bias:
            self.bias = self.add_weight("bias", [channels * self.depth_multiplier], initializer=self._bias[0], regularizer=self._bias[1],
                                        constraint=self._bias[2])
        self.built = True

    def call(self, inputs: Any) -> Any:
        first = self.data_format == "channels_first"
        out = nn_conv.depthwise_conv2d(inputs, self.depthwise_kernel, [1, 1, *self.strides] if first else [1, *self.strides, 1],
                                       self.padding.upper(), data_format="NCHW" if first else "NHWC")
        if self.use_bias:
            out = nn_ops.bias_add(out, self.bias, data_format="NCHW" if first else "NHWC")
        return self.activation(out)


class Activation(Layer):
    def __init__(self, activation: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.activation, self.supports_masking = activations.get(activation), True

    def call(self, inputs: Any) -> Any:
        return self.activation(inputs)


class _Function(Layer):
    """A layer without variables: `call` is all."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True


class ReLU(_Function):
    def __init__(self, max_value: Any = None, negative_slope: Any = 0, threshold: Any = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.max_value, self.negative_slope, self.threshold = max_value, negative_slope, threshold

    def call(self, inputs: Any) -> Any:
        return activations.relu(inputs, alpha=self.negative_slope, max_value=self.max_value, threshold=self.threshold)


class LeakyReLU(_Function):
    def __init__(self, alpha: Any = 0.3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        return nn_ops.leaky_relu(inputs, alpha=self.alpha)


class ELU(_Function):
    def __init__(self, alpha: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.alpha = alpha

    def call(self, inputs: Any) -> Any:
        return activations.elu(inputs, self.alpha)


class Softmax(_Function):
    def __init__(self, axis: Any = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.axis = axis

    def call(self, inputs: Any) -> Any:
        return activations.softmax(inputs, axis=self.axis)


class PReLU(Layer):
    def __init__(self, alpha_initializer: str = "zeros", alpha_regularizer: Any = None, alpha_constraint: Any = None,
                 shared_axes: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._settings = (initializers.get(alpha_initializer), regularizers.get(alpha_regularizer), constraints.get(alpha_constraint))
        self.shared_axes = [shared_axes] if isinstance(shared_axes, int) else shared_axes
        self.supports_masking = True

    def build(self, input_shape: ShapeLike) -> None:
        shape = TensorShape(input_shape).as_list()[1:]
        for axis in self.shared_axes or ():
            shape[axis - 1] = 1
        self.alpha = self.add_weight("alpha", shape, initializer=self._settings[0], regularizer=self._settings[1],
                                     constraint=self._settings[2])
        self.built = True

    def call(self, inputs: Any) -> Any:
        return gen_ops.relu(inputs) - self.alpha * gen_ops.relu(-inputs)


class GaussianNoise(_Function):
    def __init__(self, stddev: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stddev = stddev

    def call(self, inputs: Any, training: Any = None) -> Any:
        return control_flow_ops.smart_cond(
            _phase(training), lambda: inputs + random_ops.random_normal(array_ops.shape(inputs), stddev=self.stddev, dtype=inputs.dtype),
            lambda: array_ops.identity(inputs))


class GaussianDropout(_Function):
    def __init__(self, rate: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.rate = rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        if not 0 < self.rate < 1:
            return inputs
        deviation = float(np.sqrt(self.rate / (1.0 - self.rate)))
        return control_flow_ops.smart_cond(
            _phase(training), lambda: inputs * random_ops.random_normal(array_ops.shape(inputs), 1.0, deviation, dtype=inputs.dtype),
            lambda: array_ops.identity(inputs))


class Embedding(Layer):
    """Rows of a table, by their numbers."""

    def __init__(self, input_dim: Any, output_dim: Any, embeddings_initializer: str = "uniform",
                 embeddings_regularizer: Any = None, activity_regularizer: Any = None, embeddings_constraint: Any = None,
                 mask_zero: bool = False, input_length: Any = None, **kwargs: Any) -> None:
        if "input_shape" not in kwargs and "batch_input_shape" not in kwargs:
            kwargs["input_shape"] = (input_length,) if input_length is None or isinstance(input_length, int) else tuple(input_length)
        super().__init__(activity_regularizer=activity_regularizer, dtype=kwargs.pop("dtype", state.floatx()), **kwargs)
        self.input_dim, self.output_dim, self.mask_zero = input_dim, output_dim, mask_zero
        self._settings = (initializers.get(embeddings_initializer), regularizers.get(embeddings_regularizer),
                          constraints.get(embeddings_constraint))

    def build(self, input_shape: ShapeLike) -> None:
        self.embeddings = self.add_weight("embeddings", (self.input_dim, self.output_dim), initializer=self._settings[0],
                                          regularizer=self._settings[1], constraint=self._settings[2])
        self.built = True

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return gen_ops.not_equal(inputs, ops.convert_to_tensor(0, dtype=inputs.dtype)) if self.mask_zero else None

    def call(self, inputs: Any) -> Any:
        if inputs.dtype.base_dtype not in (dtypes.int32, dtypes.int64):
            inputs = math_ops.cast(inputs, dtypes.int32)
        return embedding_ops.embedding_lookup(self.embeddings, inputs)


class _GlobalPool(Layer):
    rank, reduce = 2, None

    def __init__(self, data_format=None, **kwargs):
        super().__init__(**kwargs)
        self.data_format = layers_conv.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    def call(self, inputs):
        first = 2 if self.data_format == "channels_first" else 1
        return type(self).reduce(inputs, axis=list(range(first, first + self.rank)))


def _global(name, rank, reduce):
    return type(name, (_GlobalPool,), {"rank": rank, "reduce": staticmethod(reduce), "__module__": __name__})


GlobalMaxPool1D = GlobalMaxPooling1D = _global("GlobalMaxPooling1D", 1, reduce_ops.reduce_max)
GlobalMaxPool2D = GlobalMaxPooling2D = _global("GlobalMaxPooling2D", 2, reduce_ops.reduce_max)
GlobalMaxPool3D = GlobalMaxPooling3D = _global("GlobalMaxPooling3D", 3, reduce_ops.reduce_max)
GlobalAvgPool1D = GlobalAveragePooling1D = _global("GlobalAveragePooling1D", 1, reduce_ops.reduce_mean)
GlobalAvgPool2D = GlobalAveragePooling2D = _global("GlobalAveragePooling2D", 2, reduce_ops.reduce_mean)
GlobalAvgPool3D = GlobalAveragePooling3D = _global("GlobalAveragePooling3D", 3, reduce_ops.reduce_mean)


class DenseFeatures(Layer):
    """tf.feature_column.input_layer() as a layer."""

    def __init__(self, feature_columns: Any, trainable: Any = True, name: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._columns = feature_columns
        self._layer = None

    def __call__(self, features, *args, **kwargs):
        from millstream.columns import layers
        if self.__dict__.get("_layer") is None:
            self.__dict__["_layer"] = layers.InputLayer(self._columns, trainable=self.trainable, name=self.name)
        before = ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)
        out = self.__dict__["_layer"](features)
        for variable in ops.get_collection(ops.GraphKeys.GLOBAL_VARIABLES)[len(before):]:
            state.track(variable)
            self._trainable_weights.append(variable)
        return out
