# SPDX-License-Identifier: Apache-2.0
"""How a model is asked once it is exported: what comes in, what goes out."""
from __future__ import annotations

import collections
from typing import TYPE_CHECKING

from millstream.framework import constant_op, dtypes, log, ops
from millstream.ops.io import parsing_ops
from millstream.savedmodel import constants, signatures

if TYPE_CHECKING:
    from typing import Any

    from millstream.framework.type_aliases import TensorLike


class ExportOutput:
    def as_signature_def(self, receiver_tensors: Any) -> Any:
        raise NotImplementedError


class PredictOutput(ExportOutput):
    def __init__(self, outputs: Any) -> None:
        self.outputs = outputs if isinstance(outputs, dict) else {"output": outputs}

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        return signatures.predict_signature_def(receiver_tensors, self.outputs)


class ClassificationOutput(ExportOutput):
    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is None and classes is None:
            raise ValueError("Cannot create a ClassificationOutput with empty arguments. At least one of `scores` and `classes` must "
                             "be defined.")
        if classes is not None and ops.convert_to_tensor(classes).dtype != dtypes.string:
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        return signatures.classification_signature_def(_serialized_examples("Classification", receiver_tensors), self.classes, self.scores)


class RegressionOutput(ExportOutput):
    def __init__(self, value: Any) -> None:
        self.value = value

    def as_signature_def(self, receiver_tensors: Any) -> Any:
        return signatures.regression_signature_def(_serialized_examples("Regression", receiver_tensors), self.value)


def _serialized_examples(kind, receiver_tensors):
    """The only input of a signature that takes serialized Examples."""
    given = list(receiver_tensors.values())
    if len(given) != 1 or given[0].dtype.base_dtype != dtypes.string:
        raise ValueError(f"{kind} input must be a single string Tensor; got {receiver_tensors}")
    return given[0]


def signature_defs(receiver, export_outputs):
    """{name: SignatureDef} of every output for the receiver's tensors, and for its alternatives as "alternative:name". Outputs that
    cannot be asked with those tensors (a classification with raw features) are left out."""
    made, left_out = {}, {}

    def add(prefix, tensors):
        tensors = tensors if isinstance(tensors, dict) else {"input": tensors}
        for key, output in export_outputs.items():
            name = prefix + (key or "None")
            try:
                made[name] = output.as_signature_def(tensors)
            except ValueError as error:
                left_out[name] = error
    add("", receiver.receiver_tensors)
    for alternative, tensors in (getattr(receiver, "receiver_tensors_alternatives", None) or {}).items():
        add(f"{alternative or 'None'}:", tensors)
    _log_signatures(made, left_out)
    return {name: signature for name, signature in made.items() if signatures.is_valid_signature(signature)}


def _log_signatures(made, left_out):
    log.info("Signatures INCLUDED in export: %s", sorted(made))
    for name, error in left_out.items():
        log.info("Signature EXCLUDED from export: %s: %s", name, error)
    if not made:
        log.warning("Export includes no signatures!")
    elif constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY not in made:
        log.warning("Export includes no default signature!")


class ServingInputReceiver(collections.namedtuple("ServingInputReceiver", "features receiver_tensors receiver_tensors_alternatives")):
    def __new__(cls, features, receiver_tensors, receiver_tensors_alternatives=None):
        if features is None:
            raise ValueError("features must be defined.")
        if receiver_tensors is None:
            raise ValueError("receiver_tensors must be defined.")
        if not isinstance(receiver_tensors, dict):
            receiver_tensors = {"input": receiver_tensors}
        return super().__new__(cls, features, receiver_tensors, receiver_tensors_alternatives)


def build_raw_serving_input_receiver_fn(features: TensorLike, default_batch_size: Any = None) -> Any:
    """Placeholders like `features`, fed as they are."""
    def receiver():
        placeholders = {}
        for name, value in features.items():
            value = ops.convert_to_tensor(value)
            shape = value.get_shape().as_list() if value.get_shape().ndims is not None else None
            if shape:
                shape[0] = default_batch_size
            placeholders[name] = constant_op.placeholder(dtype=value.dtype, shape=shape, name=name)
        return ServingInputReceiver(dict(placeholders), placeholders)
    return receiver


def build_parsing_serving_input_receiver_fn(feature_spec: Any, default_batch_size: Any = None) -> Any:
    """Serialized Examples, parsed by `feature_spec`."""
    def receiver():
        examples = constant_op.placeholder(dtype=dtypes.string, shape=[default_batch_size], name="input_example_tensor")
        return ServingInputReceiver(parsing_ops.parse_example(examples, feature_spec), {"examples": examples})
    return receiver
