# SPDX-License-Identifier: Apache-2.0
"""tf.metrics over thresholds: auc, precision_at_thresholds, ..."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops
from millstream.ops.array import array_ops
from millstream.ops.math import math_ops, reduce_ops
from millstream.ops.variables import variable_scope as vs
from millstream.ops.metrics.base import EPSILON, counts_at_thresholds, publish

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def auc(labels: TensorLike, predictions: TensorLike, weights: Any = None, num_thresholds: Any = 200,
        metrics_collections: Any = None, updates_collections: Any = None, curve: str = "ROC", name: Optional[str] = None,
        summation_method: str = "trapezoidal", thresholds: Any = None) -> tuple[Tensor, Tensor]:
    """Area under the curve "ROC" or "PR", from the counts at equally spaced thresholds."""
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    with vs.variable_scope(name, "auc", (labels, predictions, weights)):
        if thresholds is not None:
            thresholds = sorted(thresholds)
            num_thresholds = len(thresholds) + 2
        else:
            thresholds = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
        thresholds = [0.0 - EPSILON] + thresholds + [1.0 + EPSILON]
        values, updates = counts_at_thresholds(labels, predictions, thresholds, weights)

        def interpolated(tp, fp, fn):
            d_tp = tp[:-1] - tp[1:]
            p = tp + fp
            slope = math_ops.div_no_nan(d_tp, gen_ops.maximum(p[:-1] - p[1:], 0), name="prec_slope")
            intercept = tp[1:] - gen_ops.mul(slope, p[1:])
            safe_p = gen_ops.select(gen_ops.logical_and(p[:-1] > 0, p[1:] > 0),
                                    math_ops.div_no_nan(p[:-1], gen_ops.maximum(p[1:], 0)), array_ops.ones_like(p[1:]))
            return reduce_ops.reduce_sum(math_ops.div_no_nan(
                slope * (d_tp + intercept * gen_ops.log(safe_p)), gen_ops.maximum(tp[1:] + fn[1:], 0)), name="interpolate_pr_auc")

        def area(tp, fn, tn, fp, name):
            tp, fn, tn, fp = (ops.convert_to_tensor(v) for v in (tp, fn, tn, fp))
            if curve == "PR" and summation_method == "careful_interpolation":
                return interpolated(tp, fp, fn)
            rec = math_ops.div(tp + EPSILON, tp + fn + EPSILON)
            if curve == "ROC":
                x, y = math_ops.div(fp, fp + tn + EPSILON), rec
            else:
                x, y = rec, math_ops.div(tp + EPSILON, tp + fp + EPSILON)
            width = x[:num_thresholds - 1] - x[1:]
            if summation_method in ("trapezoidal", "careful_interpolation"):
                height = (y[:num_thresholds - 1] + y[1:]) / 2.0
            elif summation_method == "minoring":
                height = gen_ops.minimum(y[:num_thresholds - 1], y[1:])
            elif summation_method == "majoring":
                height = gen_ops.maximum(y[:num_thresholds - 1], y[1:])
            else:
                raise ValueError(f"Invalid summation_method: {summation_method}")
            return reduce_ops.reduce_sum(gen_ops.mul(width, height), name=name)

        value = area(values["tp"], values["fn"], values["tn"], values["fp"], "value")
        update = area(updates["tp"], updates["fn"], updates["tn"], updates["fp"], "update_op")
        return publish(value, update, metrics_collections, updates_collections)


def _at_thresholds(default, other, key):
    def metric(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None):
        with vs.variable_scope(name, default, (predictions, labels, weights)):
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights, include=("tp", other))

            def ratio(v, name):
                return math_ops.div(v["tp"], EPSILON + v["tp"] + v[other], name=f"{key}_{name}")
            return publish(ratio({k: ops.convert_to_tensor(v) for k, v in values.items()}, "value"),
                           ratio(updates, "update_op"),
                           metrics_collections, updates_collections)
    metric.__name__ = metric.__qualname__ = default
    return metric


precision_at_thresholds = _at_thresholds("precision_at_thresholds", "fp", "precision")
recall_at_thresholds = _at_thresholds("recall_at_thresholds", "fn", "recall")


def _count_at_thresholds(default, key):
    def metric(labels, predictions, thresholds, weights=None, metrics_collections=None, updates_collections=None, name=None):
        with vs.variable_scope(name, default, (predictions, labels, weights)):
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights, include=(key,))
            return publish(ops.convert_to_tensor(values[key]), updates[key], metrics_collections, updates_collections)
    metric.__name__ = metric.__qualname__ = default
    return metric


true_positives_at_thresholds = _count_at_thresholds("true_positives", "tp")
false_positives_at_thresholds = _count_at_thresholds("false_positives", "fp")
true_negatives_at_thresholds = _count_at_thresholds("true_negatives", "tn")
false_negatives_at_thresholds = _count_at_thresholds("false_negatives", "fn")


def _by_rate(default, fixed, wanted, last):
    """One rate at the threshold where the other is nearest to a number; `last` says which of equally near ones."""
    def metric(labels, predictions, rate, weights=None, num_thresholds=200, metrics_collections=None,
               updates_collections=None, name=None):
        if not 0 <= rate <= 1:
            raise ValueError(f"the given rate must be in the range [0, 1]. Current value: {rate}")
        with vs.variable_scope(name, default, (predictions, labels, weights)):
            thresholds = [(i + 1) * 1.0 / (num_thresholds - 1) for i in range(num_thresholds - 2)]
            thresholds = [0.0 - EPSILON] + thresholds + [1.0 + EPSILON]
            values, updates = counts_at_thresholds(labels, predictions, thresholds, weights)

            def compute(v, name):
                v = {k: ops.convert_to_tensor(x) for k, x in v.items()}
                rates = math_ops.div(v[fixed[0]], v[fixed[0]] + v[fixed[1]] + EPSILON)
                distance = math_ops.abs(rates - rate)
                if last:
                    nearest = gen_ops.equal(distance, reduce_ops.reduce_min(distance))
                    at = math_ops.argmax(math_ops.cumsum(math_ops.cast(nearest, dtypes.int64)), 0)
                else:
                    at = math_ops.argmin(distance, 0)
                at = math_ops.cast(at, dtypes.int32)
                return math_ops.div(v[wanted[0]][at], v[wanted[0]][at] + v[wanted[1]][at] + EPSILON, name)
            return publish(compute(values, "value"), compute(updates, "update_op"), metrics_collections, updates_collections)
    metric.__name__ = metric.__qualname__ = default
    return metric


sensitivity_at_specificity = _by_rate("sensitivity_at_specificity", ("tn", "fp"), ("tp", "fn"), False)
specificity_at_sensitivity = _by_rate("specificity_at_sensitivity", ("tp", "fn"), ("tn", "fp"), True)
