# SPDX-License-Identifier: Apache-2.0
"""tf.keras.Model and Sequential: layers joined by calls; how they are trained is in training.py."""
from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from millstream.framework import ops
from millstream.keras_v1 import state, training
from millstream.keras_v1.base_layer import Input, InputLayer, Layer, history
from millstream.ops import nest

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.type_aliases import TensorLike


def _nodes_to(outputs):
    """The calls that `outputs` come from, each after those that it needs."""
    done, order = set(), []

    def visit(tensor, of):
        node = history(tensor)
        if node is None:
            raise ValueError(f"Output tensors to a {of} must be the output of a TensorFlow `Layer` (thus holding past layer metadata). "
                             f"Found: {tensor}")
        if id(node) in done:
            return
        done.add(id(node))
        if not isinstance(node.layer, InputLayer):
            for x in nest.flatten(node.inputs):
                if history(x) is not None:
                    visit(x, of)
        order.append(node)
    for output in nest.flatten(outputs):
        visit(output, "Model")
    return order


def _layers_by_depth(order, outputs):
    """The layers of calls, those farthest from the outputs first; of one depth, as they are met from the outputs backwards."""
    depths, met = {}, {}
    for node in reversed(order):
        depth = depths.setdefault(id(node), 0)
        for x in () if isinstance(node.layer, InputLayer) else nest.flatten(node.inputs):
            if history(x) is not None:
                depths[id(history(x))] = max(depth + 1, depths.get(id(history(x)), 0))

    def meet(node):
        if id(node) in visited:
            return
        visited.add(id(node))
        met.setdefault(id(node.layer), len(met))
        for x in () if isinstance(node.layer, InputLayer) else nest.flatten(node.inputs):
            if history(x) is not None:
                meet(history(x))
    visited = set()
    for output in nest.flatten(outputs):
        meet(history(output))
    of_layer = {}
    for node in order:
        of_layer[id(node.layer)] = (max(depths[id(node)], of_layer.get(id(node.layer), (0, None))[0]), node.layer)
    return [layer for _, layer in sorted(of_layer.values(), key=lambda found: (-found[0], met[id(found[1])]))]


class Model(training.Trained, Layer):
    """Model(inputs, outputs) of tensors that began with Input(); or a class with layers as attributes and a call()."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        inputs = kwargs.pop("inputs", args[0] if args else None)
        outputs = kwargs.pop("outputs", args[1] if len(args) > 1 else None)
        name = kwargs.pop("name", args[2] if len(args) > 2 else None)
        functional = inputs is not None and outputs is not None
        super().__init__(name=name or (None if not functional or type(self) is not Model else _count("model")), **kwargs)
        self.inputs = self.outputs = None
        self._functional = False
        if functional:
            self._join(inputs, outputs)

    def _join(self, inputs, outputs):
        order = _nodes_to(outputs)
        self.__dict__.update(_functional=True, inputs=nest.flatten(inputs), outputs=nest.flatten(outputs), _structure=(inputs, outputs),
                             _order=order, built=True)
        for layer in _layers_by_depth(order, outputs):
            if not any(layer is s for s in self._sublayers):
                self._sublayers.append(layer)
        reached = [id(x) for node in order for x in nest.flatten(node.outputs)]
        for x in self.inputs:
            if id(x) not in reached:
                raise ValueError(f"Graph disconnected: cannot obtain value for tensor {x}")

    layers = property(lambda self: list(self._sublayers))
    input = property(lambda self: self._structure[0] if self._functional else self._one("inputs"))
    output = property(lambda self: self._structure[1] if self._functional else self._one("outputs"))
    input_names = property(lambda self: [history(x).layer.name for x in self.inputs])
    output_names = property(lambda self: [history(x).layer.name if history(x) is not None else f"output_{i + 1}"
                                          for i, x in enumerate(self.outputs)])

    @property
    def weights(self) -> Any:
        own = list(self._trainable_weights) + list(self._non_trainable_weights)
        return own + self._gather("weights")

    def call(self, inputs, training=None, mask=None):  # pylint: disable=redefined-outer-name
        if not self._functional:
            raise NotImplementedError("When subclassing the `Model` class, you should implement a `call` method.")
        values = {id(x): y for x, y in zip(self.inputs, nest.flatten(inputs))}
        for node in self._order:
            if id(nest.flatten(node.outputs)[0]) in values:
                continue
            given = nest.map_structure(lambda x: values.get(id(x), x), node.inputs)
            kwargs = {k: v for k, v in node.kwargs.items() if k != "mask"}
            result = node.layer(given, *node.args, **kwargs)
            values.update({id(x): y for x, y in zip(nest.flatten(node.outputs), nest.flatten(result))})
        return nest.map_structure(lambda x: values[id(x)], self._structure[1])

    def get_layer(self, name: Optional[str] = None, index: Any = None) -> Any:
        if index is not None:
            if len(self.layers) <= index:
                raise ValueError(f"Was asked to retrieve layer at index {index} but model only has {len(self.layers)} layers.")
            return self.layers[index]
        if not name:
            raise ValueError("Provide either a layer name or layer index.")
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    def reset_states(self) -> None:
        """There are no layers with states between batches."""

    def summary(self, line_length: Any = None, positions: Any = None, print_fn: Any = None) -> None:
        """A table of the layers, their shapes and how many numbers they hold."""
        show, width = print_fn or print, line_length or 65
        show(f'Model: "{self.name}"')
        show("_" * width)
        show(f"{'Layer (type)':<29}{'Output Shape':<26}{'Param #':<10}".rstrip())
        show("=" * width)
        for layer in self.layers:
            try:
                shape = str(layer.output_shape)
            except AttributeError:
                shape = "multiple"
            name = f"{layer.name} ({type(layer).__name__})"
            show(f"{name[:28]:<29}{shape[:25]:<26}{layer.count_params():<10}".rstrip())
        show("=" * width)
        counts = [sum(int(np.prod(v.shape.as_list())) for v in group) for group in (self.weights, self.trainable_weights)]
        show(f"Total params: {counts[0]:,}")
        show(f"Trainable params: {counts[1]:,}")
        show(f"Non-trainable params: {counts[0] - counts[1]:,}")
        show("_" * width)

    def get_config(self) -> Any:
        from millstream.keras_v1 import configs
        if not self._functional:
            raise NotImplementedError("A model whose layers are joined by its own call() has no configuration.")
        return configs.of_functional(self)

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        from millstream.keras_v1 import configs
        return configs.functional(cls, config, custom_objects)

    def to_json(self, **kwargs: Any) -> str:
        """The model's layers and how they are joined, without weights, for model_from_json()."""
        from millstream.keras_v1 import configs
        return configs.to_json(self, **kwargs)

    def _by_layer(self):
        """Weights by the names of their layers, which a model made anew from its configuration has as well."""
        found, seen = {}, set()
        for name, weights in [(layer.name, layer.weights) for layer in self.layers] + [(self.name, self.weights)]:
            for variable in weights:
                if id(variable) not in seen:
                    seen.add(id(variable))
                    found[f"{name}/weight_{len([k for k in found if k.startswith(name + '/')])}"] = variable
        return found

    def _names_in(self, filepath):
        """How a checkpoint names the weights: as _by_layer() says, or, in older ones, as they are called in the graph."""
        from millstream.training import checkpoint_utils
        there = dict(checkpoint_utils.list_variables(filepath))
        by_name = {v.op.name: v for v in self.weights}
        return by_name if all(name in there for name in by_name) else self._by_layer()

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: Any = None) -> None:
        from millstream.training import checkpoint_management, saver
        _check_format(filepath, save_format)
        if not overwrite and checkpoint_management.checkpoint_exists(filepath):
            raise FileExistsError(f"{filepath} exists, and overwrite=False")
        saver.Saver(self._by_layer()).save(state.get_session(), filepath, write_meta_graph=False)

    def load_weights(self, filepath: Any, by_name: bool = False) -> None:
        from millstream.training import saver
        _check_format(filepath, None)
        if by_name:
            raise NotImplementedError("Weights may only be loaded based on topology into Models when loading TensorFlow-formatted weights "
                                      "(got by_name=True to load_weights).")
        with self.weights[0].graph.as_default():
            saver.Saver(self._names_in(filepath)).restore(state.get_session(), filepath)


def _check_format(path, save_format):
    if str(path).endswith((".h5", ".hdf5", ".keras")) or save_format == "h5":
        raise ImportError("HDF5 files are not supported: without such an ending weights are written as a checkpoint.")


def _count(prefix):
    number = state.get_uid(prefix)
    return prefix if number == 1 else f"{prefix}_{number - 1}"


class Sequential(Model):
    """Layers one after the other."""

    def __init__(self, layers=None, name=None):
        super().__init__(name=name)
        self._stack = []
        for layer in layers or ():
            self.add(layer)

    def add(self, layer):
        if not isinstance(layer, Layer) and not hasattr(layer, "call"):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        if isinstance(layer, InputLayer):
            self._stack_input(layer._nodes[0].outputs)
            return
        if not self._stack and self.inputs is None:
            shape = getattr(layer, "_batch_input_shape", None)
            if shape is None and isinstance(layer, Model) and layer.inputs:
                shape = tuple(layer.inputs[0].shape.as_list())
            if shape is not None:
                dtype = layer.dtype if not hasattr(layer, "embeddings_input") else "int32"
                self._stack_input(Input(batch_shape=shape, dtype=dtype, name=layer.name + "_input"))
        self._stack.append(layer)
        if not any(layer is s for s in self._sublayers):
            self._sublayers.append(layer)
        if self.inputs is not None:
            self._extend(layer)

    def _stack_input(self, tensor):
        self.__dict__.update(inputs=[tensor], outputs=[tensor], _order=[history(tensor)])

    def _extend(self, layer):
        start = self.outputs[0]
        self.__dict__["_functional"] = True
        out = layer(start)
        self.__dict__.update(outputs=[out], _structure=(self.inputs[0], out), built=True)
        self._order.append(history(out))

    layers = property(lambda self: list(self._stack))

    def get_config(self) -> Any:
        from millstream.keras_v1 import configs
        return configs.of_sequential(self)

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Any:
        from millstream.keras_v1 import configs
        return configs.sequential(cls, config, custom_objects)

    def pop(self):
        """Without the last layer."""
        if not self._stack:
            raise TypeError("There are no layers in the model.")
        gone = self._stack.pop()
        self._sublayers.remove(gone)
        if self.inputs is not None:
            self._order.pop()
            out = nest.flatten(self._order[-1].outputs)[0]
            self.__dict__.update(outputs=[out], _structure=(self.inputs[0], out))

    def build(self, input_shape: Any = None) -> None:
        if self.inputs is None and input_shape is not None and not self.built:
            self._begin(Input(batch_shape=tuple(getattr(input_shape, "as_list", lambda: input_shape)()), name=self.name + "_input"))
        self.built = True

    def _begin(self, tensor):
        self._stack_input(tensor)
        for layer in self._stack:
            self._extend(layer)

    def __call__(self, inputs, *args, **kwargs):
        if not self._functional:  # the first call makes the variables, in a scope of the model's name
            self.built = True
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:  # pylint: disable=redefined-outer-name
        for layer in self._stack:
            inputs = layer(inputs)
        return inputs

    def predict_classes(self, x: TensorLike, batch_size: Any = 32, verbose: Any = 0) -> Any:
        proba = self.predict(x, batch_size=batch_size, verbose=verbose)
        return proba.argmax(axis=-1) if proba.shape[-1] > 1 else (proba > 0.5).astype("int32")

    def predict_proba(self, x: TensorLike, batch_size: Any = 32, verbose: Any = 0) -> Any:
        return self.predict(x, batch_size=batch_size, verbose=verbose)


def is_keras_tensor(x):
    return isinstance(x, ops.Tensor) and history(x) is not None
