# SPDX-License-Identifier: Apache-2.0
"""tf.keras.layers over time: SimpleRNN, GRU, LSTM, RNN, Bidirectional, TimeDistributed."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework.tensor_shape import TensorShape
from millstream.keras_v1 import state
from millstream.keras_v1.adapt import meant
from millstream.keras_v1.base_layer import InputSpec, Layer
from millstream.ops import nest
from millstream.ops.array import array_ops
from millstream.ops.flow import control_flow_ops, functional_ops
from millstream.ops.linalg import linalg_ops
from millstream.ops.nn import nn_ops

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import ShapeLike

_WEIGHTS = {"kernel_initializer": "glorot_uniform", "recurrent_initializer": "orthogonal", "bias_initializer": "zeros",
            "kernel_regularizer": None, "recurrent_regularizer": None, "bias_regularizer": None, "kernel_constraint": None,
            "recurrent_constraint": None, "bias_constraint": None}


class _Cell(Layer):
    """One step: call(inputs, states) gives (output, new states)."""

    gates = 1
    _further_arguments = _WEIGHTS

    def __init__(self, units: Any, activation: Any = "tanh", use_bias: bool = True, dropout: Any = 0.0,
                 recurrent_dropout: Any = 0.0, **kwargs: Any) -> None:
        settings = {k: meant(k, kwargs.pop(k, default)) for k, default in _WEIGHTS.items()}
        self._recurrent_activation_name = kwargs.pop("recurrent_activation", "hard_sigmoid")
        kwargs.pop("implementation", None)
        super().__init__(**kwargs)
        self.units, self.activation, self.use_bias = units, meant("activation", activation), use_bias
        self.recurrent_activation = meant("activation", self._recurrent_activation_name)
        self.dropout, self.recurrent_dropout = dropout, recurrent_dropout
        self.__dict__.update(settings)

    state_size = property(lambda self: self.units)
    output_size = property(lambda self: self.units)

    def build(self, input_shape):
        width = TensorShape(input_shape).as_list()[-1]
        self.kernel = self.add_weight("kernel", (width, self.gates * self.units), initializer=self.kernel_initializer,
                                      regularizer=self.kernel_regularizer, constraint=self.kernel_constraint)
        self.recurrent_kernel = self.add_weight("recurrent_kernel", (self.units, self.gates * self.units),
                                                initializer=self.recurrent_initializer, regularizer=self.recurrent_regularizer,
                                                constraint=self.recurrent_constraint)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight("bias", (self.gates * self.units,), initializer=self._bias_start,
                                        regularizer=self.bias_regularizer, constraint=self.bias_constraint)
        self.built = True

    def _bias_start(self, shape, dtype=None, partition_info=None):
        return self.bias_initializer(shape, dtype=dtype)

    def _from_inputs(self, x):
        out = linalg_ops.matmul(x, self.kernel)
        return nn_ops.bias_add(out, self.bias) if self.use_bias else out

    def _parts(self, x):
        return array_ops.split(x, self.gates, axis=1)


class SimpleRNNCell(_Cell):
    def call(self, inputs: Any, states: Any) -> Any:
        out = self.activation(self._from_inputs(inputs) + linalg_ops.matmul(states[0], self.recurrent_kernel))
        return out, [out]


class GRUCell(_Cell):
    gates = 3

    def __init__(self, units: Any, reset_after: bool = False, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.reset_after = reset_after
        if reset_after:
            raise ValueError("reset_after=True is not supported")

    def call(self, inputs: Any, states: Any) -> Any:
        h = states[0]
        xz, xr, xh = self._parts(self._from_inputs(inputs))
        rz, rr = array_ops.split(linalg_ops.matmul(h, self.recurrent_kernel[:, :2 * self.units]), 2, axis=1)
        z, r = self.recurrent_activation(xz + rz), self.recurrent_activation(xr + rr)
        new = self.activation(xh + linalg_ops.matmul(r * h, self.recurrent_kernel[:, 2 * self.units:]))
        out = z * h + (1 - z) * new
        return out, [out]


class LSTMCell(_Cell):
    gates = 4
    state_size = property(lambda self: [self.units, self.units])

    def __init__(self, units: Any, unit_forget_bias: bool = True, **kwargs: Any) -> None:
        super().__init__(units, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    def _bias_start(self, shape, dtype=None, partition_info=None):
        if not self.unit_forget_bias:
            return self.bias_initializer(shape, dtype=dtype)
        n = self.units
        return array_ops.concat([self.bias_initializer((n,), dtype=dtype), array_ops.ones((n,), dtype),
                                 self.bias_initializer((2 * n,), dtype=dtype)], 0)

    def call(self, inputs: Any, states: Any) -> Any:
        h, c = states
        i, f, g, o = self._parts(self._from_inputs(inputs) + linalg_ops.matmul(h, self.recurrent_kernel))
        c = self.recurrent_activation(f) * c + self.recurrent_activation(i) * self.activation(g)
        h = self.recurrent_activation(o) * self.activation(c)
        return h, [h, c]


class StackedRNNCells(Layer):
    """Cells one after the other, as one cell."""

    def __init__(self, cells: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = list(cells)

    state_size = property(lambda self: [s for c in self.cells for s in nest.flatten(c.state_size)])
    output_size = property(lambda self: self.cells[-1].output_size)

    def call(self, inputs, states):
        new, states = [], list(states)
        for cell in self.cells:
            count = len(nest.flatten(cell.state_size))
            inputs, after = cell(inputs, states[:count])
            new, states = new + list(after), states[count:]
        return inputs, new


class RNN(Layer):
    """A cell over the second axis of [batch, time, width]; where the mask is False, the states stay."""

    def __init__(self, cell, return_sequences=False, return_state=False, go_backwards=False, stateful=False, unroll=False,
                 time_major=False, **kwargs):
        if stateful:
            raise ValueError("stateful=True is not supported: pass initial_state")
        super().__init__(**kwargs)
        self.cell = StackedRNNCells(cell) if isinstance(cell, (list, tuple)) else cell
        self.return_sequences, self.return_state, self.go_backwards = return_sequences, return_state, go_backwards
        self.time_major, self.unroll, self.zero_output_for_mask = time_major, unroll, False
        self.supports_masking, self.input_spec = True, InputSpec(ndim=3)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask if self.return_sequences and not self.return_state else None

    def build(self, input_shape: ShapeLike) -> None:
        shape = TensorShape(input_shape[0] if isinstance(input_shape, list) else input_shape).as_list()
        if not self.cell.built and hasattr(self.cell, "gates"):  # its variables are the layer's own by name
            self.cell.build([shape[0], shape[2]])
        self.built = True

    def __call__(self, inputs, initial_state=None, **kwargs):
        if isinstance(inputs, (list, tuple)):
            inputs, initial_state = inputs[0], list(inputs[1:])
        if initial_state is not None:
            kwargs["initial_state"] = list(initial_state) if isinstance(initial_state, (list, tuple)) else [initial_state]
        return super().__call__(inputs, **kwargs)

    def call(self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None) -> Any:
        x = inputs if self.time_major else array_ops.transpose(inputs, [1, 0, 2])
        if self.go_backwards:
            x = array_ops.reverse(x, [0])
        sizes = nest.flatten(self.cell.state_size)
        first = initial_state or [array_ops.zeros(array_ops.stack([array_ops.shape(x)[1], s]), x.dtype) for s in sizes]
        x, first = self._dropped(x, training), list(first)
        output = array_ops.zeros(array_ops.stack([array_ops.shape(x)[1], nest.flatten(self.cell.output_size)[0]]), x.dtype)
        elems = x
        if mask is not None:
            flags = array_ops.transpose(mask, [1, 0])
            elems = (x, array_ops.reverse(flags, [0]) if self.go_backwards else flags)
        outputs = functional_ops.scan(lambda before, now: self._step(before, now), elems, [output] + first)
        return self._results(outputs, sizes, inputs)

    def _dropped(self, x, training):
        rate = getattr(self.cell, "dropout", 0.0)
        if not rate:
            return x
        shape = array_ops.stack([1, array_ops.shape(x)[1], array_ops.shape(x)[2]])
        phase = state.learning_phase() if training is None else training
        return control_flow_ops.smart_cond(phase, lambda: nn_ops.dropout(x, rate=rate, noise_shape=shape), lambda: array_ops.identity(x))

    def _step(self, before, now):
        x, flag = now if isinstance(now, (list, tuple)) else (now, None)
        call = self.cell.call if hasattr(self.cell, "gates") else self.cell
        output, states = call(x, list(before[1:]))
        new = [output] + nest.flatten(states)
        if flag is None:
            return new
        before = [array_ops.zeros_like(output) if self.zero_output_for_mask else before[0], *before[1:]]
        return [gen_ops.select(gen_ops.tile(array_ops.expand_dims(flag, 1), array_ops.stack([1, array_ops.shape(n)[1]])), n, b)
                for n, b in zip(new, before)]

    def _results(self, outputs, sizes, inputs):
        sequence, states = outputs[0], [s[-1] for s in outputs[1:]]
        batch = inputs.shape.as_list()[1 if self.time_major else 0]
        width = nest.flatten(self.cell.output_size)[0]
        if self.return_sequences:
            out = sequence if self.time_major else array_ops.transpose(sequence, [1, 0, 2])
            time = inputs.shape.as_list()[0 if self.time_major else 1]
            out.set_shape([time, batch, width] if self.time_major else [batch, time, width])
        else:
            out = sequence[-1]
            out.set_shape([batch, width])
        for s, size in zip(states, sizes):
            s.set_shape([batch, size])
        return [out, *states] if self.return_state else out


def _layer(name, cell_class):
    own = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major", "name", "input_shape",
           "batch_input_shape", "input_dim", "trainable", "dtype", "weights", "activity_regularizer")

    def __init__(self, units, activation="tanh", **kwargs):
        if "input_length" in kwargs:
            kwargs["input_shape"] = (kwargs.pop("input_length"), kwargs.pop("input_dim"))
        mine = {k: kwargs.pop(k) for k in own if k in kwargs}
        RNN.__init__(self, cell_class(units, activation=activation, **kwargs), **mine)
        self.units = units
    further = {"use_bias": True, **_WEIGHTS, "dropout": 0.0, "recurrent_dropout": 0.0, **dict.fromkeys(own[:6], False)}
    if cell_class is not SimpleRNNCell:
        further["recurrent_activation"] = "hard_sigmoid"
    return type(name, (RNN,), {"__init__": __init__, "__module__": __name__, "_further_arguments": further,
                               "__doc__": f"{cell_class.__name__} over time."})


SimpleRNN, GRU, LSTM = _layer("SimpleRNN", SimpleRNNCell), _layer("GRU", GRUCell), _layer("LSTM", LSTMCell)
CuDNNGRU, CuDNNLSTM = _layer("CuDNNGRU", GRUCell), _layer("CuDNNLSTM", LSTMCell)


class TimeDistributed(Layer):
    """A layer on each step."""

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer, self.supports_masking = layer, True

    def build(self, input_shape: ShapeLike) -> None:
        shape = TensorShape(input_shape).as_list()
        if not self.layer.built:  # its variables are the wrapper's by name
            self.layer._dtype = self.layer._dtype or self._dtype
            self.layer.build(TensorShape([shape[0]] + shape[2:]))
            self.layer.built = True
        self.built = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        sizes = inputs.shape.as_list()
        lead = array_ops.shape(inputs)[:2]
        flat = array_ops.reshape(inputs, array_ops.concat([[-1], array_ops.shape(inputs)[2:]], 0))
        flat.set_shape([None] + sizes[2:])
        given = {} if training is None or not self.layer._accepts("training") else {"training": training}
        out = self.layer(flat, **given)
        result = array_ops.reshape(out, array_ops.concat([lead, array_ops.shape(out)[1:]], 0))
        result.set_shape(sizes[:2] + out.shape.as_list()[1:])
        return result


class Bidirectional(Layer):
    """A layer forwards and its copy backwards."""

    def __init__(self, layer: Any, merge_mode: str = "concat", weights: Any = None, **kwargs: Any) -> None:
        import copy
        if merge_mode not in ("sum", "mul", "ave", "concat", None):
            raise ValueError('Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", None}')
        if hasattr(layer, "_batch_input_shape"):
            kwargs.setdefault("batch_input_shape", layer._batch_input_shape)
        super().__init__(weights=weights, **kwargs)
        self.merge_mode, self.supports_masking = merge_mode, True
        layer.zero_output_for_mask = layer.return_sequences
        other = copy.deepcopy(layer)
        layer._name, other._name = "forward_" + layer.name, "backward_" + layer.name
        other.go_backwards = not layer.go_backwards
        self.forward_layer, self.backward_layer = layer, other

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return self.forward_layer.compute_mask(inputs, mask)

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Any:
        forward = self.forward_layer(inputs, mask=mask, training=training)
        backward = self.backward_layer(inputs, mask=mask, training=training)
        states = []
        if self.forward_layer.return_state:
            states = list(forward[1:]) + list(backward[1:])
            forward, backward = forward[0], backward[0]
        if self.forward_layer.return_sequences:
            backward = array_ops.reverse(backward, [0 if self.forward_layer.time_major else 1])
        merged = {"concat": lambda: array_ops.concat([forward, backward], -1), "sum": lambda: forward + backward,
                  "ave": lambda: (forward + backward) / 2, "mul": lambda: forward * backward,
                  None: lambda: [forward, backward]}[self.merge_mode]()
        if not states:
            return merged
        return (merged if isinstance(merged, list) else [merged]) + states
