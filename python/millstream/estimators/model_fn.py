# SPDX-License-Identifier: Apache-2.0
"""What a model function returns."""
import collections

from millstream.estimators import export
from millstream.framework import ops
from millstream.ops.array import array_ops
from millstream.savedmodel import constants
from millstream.training import monitored_session


class ModeKeys:
    """The modes in which a model function is called."""

    TRAIN, EVAL, PREDICT = "train", "eval", "infer"


class WarmStartSettings(collections.namedtuple("WarmStartSettings", (
        "ckpt_to_initialize_from vars_to_warm_start var_name_to_vocab_info var_name_to_prev_var_name"))):
    """Which variables begin with values of another checkpoint; see tf.train.warm_start."""

    def __new__(cls, ckpt_to_initialize_from, vars_to_warm_start=".*", var_name_to_vocab_info=None, var_name_to_prev_var_name=None):
        if not ckpt_to_initialize_from:
            raise ValueError("`ckpt_to_initialize_from` MUST be set in WarmStartSettings")
        return super().__new__(cls, ckpt_to_initialize_from, vars_to_warm_start, var_name_to_vocab_info or {},
                               var_name_to_prev_var_name or {})


def _check_loss(loss, mode):
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    loss = ops.convert_to_tensor(loss)
    shape = loss.get_shape()
    if shape.ndims not in (None, 0):
        if not shape.is_compatible_with([1]):
            raise ValueError(f"Loss must be scalar, given: {loss}")
        loss = array_ops.reshape(loss, [])
    return loss


def _check_metrics(eval_metric_ops):
    metrics = dict(eval_metric_ops or {})
    for name, value in metrics.items():
        if not isinstance(value, tuple) or len(value) != 2:
            raise TypeError(f"Values of eval_metric_ops must be (metric_value, update_op) tuples, given: {value} for key: {name}")
    return metrics


def _check_exports(export_outputs, predictions, mode):
    if mode != ModeKeys.PREDICT:
        return export_outputs
    if predictions is None:
        raise ValueError("Missing predictions.")
    if export_outputs is None:
        return {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: export.PredictOutput(predictions)}
    if not isinstance(export_outputs, dict):
        raise TypeError(f"`export_outputs` must be dict, given: {export_outputs}")
    for value in export_outputs.values():
        if not isinstance(value, export.ExportOutput):
            raise TypeError(f"Values in `export_outputs` must be ExportOutput objects. Given: {export_outputs}")
    outputs = dict(export_outputs)
    if constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY not in outputs:
        if len(outputs) > 1:
            raise ValueError("Multiple export_outputs were provided, but none of them is specified as the default. Do this by naming "
                             f"one of them with {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY!r}.")
        outputs[constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY] = next(iter(outputs.values()))
    return outputs


class EstimatorSpec(collections.namedtuple("EstimatorSpec", (
        "mode predictions loss train_op eval_metric_ops export_outputs training_chief_hooks training_hooks scaffold "
        "evaluation_hooks prediction_hooks"))):
    """A model's ops for one mode, checked."""

    def __new__(cls, mode, predictions=None, loss=None, train_op=None, eval_metric_ops=None, export_outputs=None,
                training_chief_hooks=None, training_hooks=None, scaffold=None, evaluation_hooks=None, prediction_hooks=None):
        if mode == ModeKeys.TRAIN and train_op is None:
            raise ValueError("Missing train_op.")
        if scaffold is not None and not isinstance(scaffold, monitored_session.Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls, mode=mode, predictions={} if predictions is None else predictions, loss=_check_loss(loss, mode), train_op=train_op,
            eval_metric_ops=_check_metrics(eval_metric_ops), export_outputs=_check_exports(export_outputs, predictions, mode),
            training_chief_hooks=tuple(training_chief_hooks or ()), training_hooks=tuple(training_hooks or ()),
            scaffold=scaffold or monitored_session.Scaffold(), evaluation_hooks=tuple(evaluation_hooks or ()),
            prediction_hooks=tuple(prediction_hooks or ()))
