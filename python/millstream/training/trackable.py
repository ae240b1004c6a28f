# SPDX-License-Identifier: Apache-2.0
"""The objects that tf.train.Checkpoint saves: variables, and what holds them. Each has children by name."""
import collections

from millstream.ops.layers import base as layers_base
from millstream.ops.variables import variables
from millstream.training import optimizer as optimizer_lib

# Each variable's value in a checkpoint is called <names on the way to it>/.ATTRIBUTES/VARIABLE_VALUE.
VALUE = "VARIABLE_VALUE"
OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


class AutoTrackable:
    """Attributes that are variables, layers, optimizers, or of this class, are saved with an object of this class."""


def _is_optimizer(value):
    return isinstance(value, optimizer_lib.Optimizer)


def is_trackable(value):
    if isinstance(value, (list, tuple)):
        return any(is_trackable(v) for v in value)
    if isinstance(value, dict):
        return any(is_trackable(v) for v in value.values())
    return isinstance(value, (variables.Variable, AutoTrackable, layers_base.Layer)) or _is_optimizer(value) or \
        _is_optimizer(getattr(value, "optimizer", None)) and type(value).__name__ == "TFOptimizer"


def _of_layers(model):
    """A model's layers, by their numbers among all, and among those with weights."""
    out, weighted = [], 0
    for number, layer in enumerate(model.layers):
        if layer.weights:
            out.append((f"layer_with_weights-{weighted}", layer))
            weighted += 1
        out.append((f"layer-{number}", layer))
    return out


def children(value):
    """[(name, trackable)] in the order in which they were set."""
    if isinstance(value, variables.Variable):
        return []
    if isinstance(value, (list, tuple)):
        return [(str(i), v) for i, v in enumerate(value) if is_trackable(v)]
    if isinstance(value, dict):
        return [(str(k), v) for k, v in value.items() if is_trackable(v)]
    if _is_optimizer(value):
        return sorted(((name, v) for (name, _), v in value._non_slot_dict.items()), key=lambda pair: pair[0])
    is_layer = isinstance(value, layers_base.Layer)
    out = _of_layers(value) if is_layer and hasattr(value, "layers") else []
    for name, attribute in vars(value).items():
        hidden = is_layer and name.startswith("_") and isinstance(attribute, (list, tuple, dict))  # our own lists of weights
        if not hidden and is_trackable(attribute):
            out.append((name, attribute))
    return out


def _escaped(name):
    return name.replace(".", "..").replace("/", ".S")


Node = collections.namedtuple("Node", "value path")  # path: escaped names, joined by "/"


class View:
    """The objects below `root`, nearest first, with the names under which their values are saved."""

    def __init__(self, root):
        self.nodes, self._ids = [], {}
        self._add(root, "")
        at = 0
        while at < len(self.nodes):
            node = self.nodes[at]
            for name, child in children(node.value):
                if id(child) not in self._ids:
                    self._add(child, f"{node.path}/{_escaped(name)}" if node.path else _escaped(name))
            at += 1
        self.slots = []  # (optimizer's node, variable's node, slot's name, slot's node)
        for number, node in enumerate(list(self.nodes)):
            if _is_optimizer(node.value):
                self._add_slots(number, node)

    def _add(self, value, path):
        self._ids[id(value)] = len(self.nodes)
        self.nodes.append(Node(value, path))
        return len(self.nodes) - 1

    def _add_slots(self, number, node):
        owned = [(i, n) for i, n in enumerate(list(self.nodes)) if isinstance(n.value, variables.Variable)]
        for name in node.value.get_slot_names():
            for i, variable in owned:
                slot = node.value.get_slot(variable.value, name)
                if slot is not None:
                    path = f"{variable.path}/.OPTIMIZER_SLOT/{node.path}/{_escaped(name)}"
                    self.slots.append((number, i, name, self._ids.get(id(slot)) or self._add(slot, path)))

    def number(self, value):
        return self._ids[id(value)]

    def saved(self):
        """Variables by their names in a checkpoint."""
        return {f"{n.path}/.ATTRIBUTES/{VALUE}": n.value for n in self.nodes if isinstance(n.value, variables.Variable)}

    def proto(self):
        """Who holds what, as checkpoints say it."""
        from millstream.proto import trackable_object_graph_pb2
        graph = trackable_object_graph_pb2.TrackableObjectGraph()
        for node in self.nodes:
            at = graph.nodes.add()
            if isinstance(node.value, variables.Variable):
                at.attributes.add(name=VALUE, full_name=node.value.op.name, checkpoint_key=f"{node.path}/.ATTRIBUTES/{VALUE}")
                at.has_checkpoint_values.value = True
                continue
            for name, child in children(node.value):
                at.children.add(node_id=self.number(child), local_name=name)
        for optimizer, variable, name, slot in self.slots:
            graph.nodes[optimizer].slot_variables.add(original_variable_node_id=variable, slot_name=name, slot_variable_node_id=slot)
        return graph


def match(view, graph):
    """({number in a checkpoint's object graph: our object}, our objects that have no counterpart there)."""
    found, queue = {0: view.nodes[0].value}, collections.deque([0])
    while queue:
        number = queue.popleft()
        ours = dict(children(found[number]))
        for child in graph.nodes[number].children:
            value = ours.get(child.local_name)
            if value is not None and child.node_id not in found:
                found[child.node_id] = value
                queue.append(child.node_id)
    for number, value in list(found.items()):
        if not _is_optimizer(value):
            continue
        for reference in graph.nodes[number].slot_variables:
            variable = found.get(reference.original_variable_node_id)
            slot = None if variable is None else value.get_slot(variable, reference.slot_name)
            if slot is not None:
                found[reference.slot_variable_node_id] = slot
    known = {id(v) for v in found.values()}
    return found, [n.value for n in view.nodes if id(n.value) not in known]
