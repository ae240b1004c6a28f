# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers.LayerNormalization."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework.tensor_shape import TensorShape
from millstream.keras_v1 import constraints, initializers, regularizers
from millstream.keras_v1.base_layer import Layer
from millstream.ops.array import array_ops
from millstream.ops.nn import nn_norm

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import ShapeLike


class LayerNormalization(Layer):
    """Each example by itself: mean 0 and variance 1 along `axis`, then a scale and an offset that are learned."""

    def __init__(self, axis: Any = -1, epsilon: Any = 0.001, center: bool = True, scale: bool = True,
                 beta_initializer: str = "zeros", gamma_initializer: str = "ones", beta_regularizer: Any = None,
                 gamma_regularizer: Any = None, beta_constraint: Any = None, gamma_constraint: Any = None,
                 trainable: Any = True, name: Optional[str] = None, **kwargs: Any) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        self.axis = list(axis) if isinstance(axis, (list, tuple)) else [axis]
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self._beta = dict(initializer=initializers.get(beta_initializer), regularizer=regularizers.get(beta_regularizer),
                          constraint=constraints.get(beta_constraint))
        self._gamma = dict(initializer=initializers.get(gamma_initializer), regularizer=regularizers.get(gamma_regularizer),
                           constraint=constraints.get(gamma_constraint))
        self.supports_masking = True

    def build(self, input_shape: ShapeLike) -> None:
        sizes = TensorShape(input_shape).as_list()
        self.axis = [a + len(sizes) if a < 0 else a for a in self.axis]
        shape = [sizes[a] for a in self.axis]
        if None in shape:
            raise ValueError(f"The sizes of the axes {self.axis} of the input must be known: {sizes}")
        self.gamma = self.add_weight("gamma", shape, **self._gamma) if self.scale else None
        self.beta = self.add_weight("beta", shape, **self._beta) if self.center else None
        self.built = True

    def _spread(self, weight, rank, sizes):
        """A weight in the shape of the input, with ones elsewhere."""
        if weight is None or self.axis == [rank - 1]:
            return weight
        return array_ops.reshape(weight, [sizes[i] if i in self.axis else 1 for i in range(rank)])

    def call(self, inputs: Any) -> Any:
        sizes = inputs.shape.as_list()
        mean, variance = nn_norm.moments(inputs, self.axis, keep_dims=True)
        return nn_norm.batch_normalization(inputs, mean, variance, self._spread(self.beta, len(sizes), sizes),
                                           self._spread(self.gamma, len(sizes), sizes), self.epsilon)
