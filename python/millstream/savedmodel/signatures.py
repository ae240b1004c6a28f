# SPDX-License-Identifier: Apache-2.0
"""Signatures of SavedModels: which tensors go in and come out."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.framework import dtypes, ops
from millstream.savedmodel import constants

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph


def build_tensor_info(tensor):
    """Describes a tensor (its name, dtype and shape; parts of a SparseTensor) as a TensorInfo message for a signature."""
    from millstream.proto import meta_graph_pb2
    info = meta_graph_pb2.TensorInfo(dtype=int(tensor.dtype.base_dtype), tensor_shape=tensor.get_shape().as_proto())
    if hasattr(tensor, "indices") and hasattr(tensor, "dense_shape"):
        info.coo_sparse.values_tensor_name = tensor.values.name
        info.coo_sparse.indices_tensor_name = tensor.indices.name
        info.coo_sparse.dense_shape_tensor_name = tensor.dense_shape.name
    else:
        info.name = tensor.name
    return info


def get_tensor_from_tensor_info(tensor_info: Any, graph: Optional[Graph] = None, import_scope: Any = None) -> Any:
    graph = graph or ops.get_default_graph()
    return graph.get_tensor_by_name(ops.prepend_name_scope(tensor_info.name, import_scope))


def build_signature_def(inputs=None, outputs=None, method_name=None):
    from millstream.proto import meta_graph_pb2
    signature = meta_graph_pb2.SignatureDef()
    for key, info in (inputs or {}).items():
        signature.inputs[key].CopyFrom(info)
    for key, info in (outputs or {}).items():
        signature.outputs[key].CopyFrom(info)
    if method_name is not None:
        signature.method_name = method_name
    return signature


def predict_signature_def(inputs: Any, outputs: Any) -> Any:
    if not inputs or not outputs:
        raise ValueError("Prediction inputs and outputs cannot be None or empty.")
    return build_signature_def({k: build_tensor_info(t) for k, t in inputs.items()},
                               {k: build_tensor_info(t) for k, t in outputs.items()}, constants.PREDICT_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    if examples is None:
        raise ValueError("Classification `examples` cannot be None.")
    outputs = {}
    if classes is not None:
        outputs[constants.CLASSIFY_OUTPUT_CLASSES] = build_tensor_info(classes)
    if scores is not None:
        outputs[constants.CLASSIFY_OUTPUT_SCORES] = build_tensor_info(scores)
    if not outputs:
        raise ValueError("Classification `classes` and `scores` cannot both be None.")
    return build_signature_def({constants.CLASSIFY_INPUTS: build_tensor_info(examples)}, outputs,
                               constants.CLASSIFY_METHOD_NAME)


def regression_signature_def(examples: Any, predictions: Any) -> Any:
    if examples is None or predictions is None:
        raise ValueError("Regression `examples` and `predictions` cannot be None.")
    if predictions.dtype.base_dtype != dtypes.float32:
        raise ValueError(f"Regression output must be floats: {predictions}")
    return build_signature_def({constants.REGRESS_INPUTS: build_tensor_info(examples)},
                               {constants.REGRESS_OUTPUTS: build_tensor_info(predictions)}, constants.REGRESS_METHOD_NAME)


def is_valid_signature(signature_def: Any) -> bool:
    """Whether a server of models can serve it: one of the three methods, with the inputs and outputs that it asks for."""
    if signature_def is None:
        return False
    method, inputs, outputs = signature_def.method_name, signature_def.inputs, signature_def.outputs
    if method == constants.PREDICT_METHOD_NAME:
        return bool(inputs) and bool(outputs)
    if method not in (constants.CLASSIFY_METHOD_NAME, constants.REGRESS_METHOD_NAME):
        return False
    if set(inputs) != {"inputs"} or inputs["inputs"].dtype != int(dtypes.string):
        return False
    if method == constants.REGRESS_METHOD_NAME:
        return set(outputs) == {"outputs"} and outputs["outputs"].dtype == int(dtypes.float32)
    kinds = {"classes": int(dtypes.string), "scores": int(dtypes.float32)}
    return bool(outputs) and all(kinds.get(key) == info.dtype for key, info in outputs.items())


def main_op() -> Any:
    """What a loaded model runs first: all initializers."""
    from millstream.ops.flow import control_flow_group
    from millstream.ops.lookup import lookup_ops
    from millstream.ops.variables import variable_collections
    return control_flow_group.group(variable_collections.global_variables_initializer(),
                                    variable_collections.local_variables_initializer(), lookup_ops.tables_initializer())


def main_op_with_restore(restore_op_name: Any) -> Any:
    from millstream.ops.flow import control_flow_group
    with ops.control_dependencies([main_op()]):
        return control_flow_group.group(ops.get_default_graph().get_operation_by_name(restore_op_name))
