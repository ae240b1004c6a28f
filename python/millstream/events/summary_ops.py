# SPDX-License-Identifier: Apache-2.0
"""Summary ops: scalars, histograms, images, sounds and texts for TensorBoard."""
from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from millstream import gen_ops
from millstream.framework import dtypes, ops

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.tensor import Tensor
    from millstream.framework.type_aliases import TensorLike


def clean_tag(name):
    """Only characters that node names may have."""
    if name is None:
        return None
    new = re.sub(r"[^-/\w\.]", "_", name).lstrip("/")
    if new != name:
        from millstream.framework import log
        log.info("Summary name %s is illegal; using %s instead.", name, new)
    return new


@contextlib.contextmanager
def summary_scope(name, family=None, default_name=None, values=None):
    """(tag, scope of the node)."""
    name, family = clean_tag(name), clean_tag(family)
    base = name if family is None else f"{family}/{name}"
    with ops.name_scope(base, default_name, values) as scope:
        tag = scope.rstrip("/") if family is None else f"{family}/{scope.rstrip('/')}"
        yield tag, scope


def _collect(value, collections, default=(ops.GraphKeys.SUMMARIES,)):
    for key in (default if collections is None else collections):
        ops.add_to_collection(key, value)
    return value


def scalar(name: str, tensor: TensorLike, collections: Any = None, family: Any = None) -> Tensor:
    """A summary of one number."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        return _collect(gen_ops.scalar_summary(tag, tensor, name=scope), collections)


def histogram(name: str, values: Any, collections: Any = None, family: Any = None) -> Tensor:
    """A summary of the distribution of values."""
    with summary_scope(name, family, "HistogramSummary", [values]) as (tag, scope):
        return _collect(gen_ops.histogram_summary(tag, values, name=scope), collections)


def image(name: str, tensor: TensorLike, max_outputs: Any = 3, collections: Any = None, family: Any = None) -> Any:
    """A summary of up to `max_outputs` images."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        return _collect(gen_ops.image_summary(tag, tensor, max_images=max_outputs, name=scope), collections)


def audio(name: str, tensor: TensorLike, sample_rate: Any, max_outputs: Any = 3, collections: Any = None,
          family: Any = None) -> Any:
    """A summary of up to `max_outputs` sound clips."""
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        rate = ops.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return _collect(gen_ops.audio_summary_v2(tag, tensor, rate, max_outputs=max_outputs, name=scope), collections)


def tensor_summary(name, tensor, summary_description=None, collections=None, summary_metadata=None, family=None,
                   display_name=None):
    from millstream.proto import summary_pb2
    metadata = summary_metadata or summary_pb2.SummaryMetadata()
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        return _collect(gen_ops.tensor_summary_v2(tag, tensor, metadata.SerializeToString(), name=scope), collections)


def text(name, tensor, collections=None):
    """A summary of strings."""
    if tensor.dtype.base_dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    from millstream.proto import summary_pb2
    metadata = summary_pb2.SummaryMetadata(
        plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(name, tensor, collections=collections, summary_metadata=metadata)


def merge(inputs: Any, collections: Any = None, name: Optional[str] = None) -> Tensor:
    """One summary of several."""
    with ops.name_scope(name, "Merge", inputs):
        return _collect(gen_ops.merge_summary(inputs, name="MergeSummary" if name is None else name), collections, ())


def merge_all(key: Any = ops.GraphKeys.SUMMARIES, scope: Any = None, name: Optional[str] = None) -> Optional[Tensor]:
    """All summaries of the graph in one; None if there are none."""
    found = ops.get_collection(key, scope=scope)
    return merge(found, name=name) if found else None


# The names of before TensorFlow 1.0.


def scalar_summary(tags: Any, values: Any, collections: Any = None, name: Optional[str] = None) -> Tensor:
    """Returns a summary of one value per tag, in the form that TensorFlow 0.x had; new programs use `tf.summary.scalar`."""
    with ops.name_scope(name, "ScalarSummary", [tags, values]) as scope:
        return _collect(gen_ops.scalar_summary(tags, values, name=scope), collections)


def histogram_summary(tag: Any, values: Any, collections: Any = None, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "HistogramSummary", [tag, values]) as scope:
        return _collect(gen_ops.histogram_summary(tag, values, name=scope), collections)


def image_summary(tag: Any, tensor: TensorLike, max_images: Any = 3, collections: Any = None,
                  name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "ImageSummary", [tag, tensor]) as scope:
        return _collect(gen_ops.image_summary(tag, tensor, max_images=max_images, name=scope), collections)


def audio_summary(tag: Any, tensor: TensorLike, sample_rate: Any, max_outputs: Any = 3, collections: Any = None,
                  name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "AudioSummary", [tag, tensor]) as scope:
        rate = ops.convert_to_tensor(sample_rate, dtype=dtypes.float32, name="sample_rate")
        return _collect(gen_ops.audio_summary_v2(tag, tensor, rate, max_outputs=max_outputs, name=scope), collections)


def merge_summary(inputs: Any, collections: Any = None, name: Optional[str] = None) -> Any:
    with ops.name_scope(name, "MergeSummary", inputs):
        return _collect(gen_ops.merge_summary(inputs, name=name), collections, ())


def merge_all_summaries(key: Any = ops.GraphKeys.SUMMARIES) -> Optional[Tensor]:
    """The old name of `tf.summary.merge_all`. It returns None if there are no summaries."""
    found = ops.get_collection(key)
    return merge_summary(found) if found else None


def get_summary_description(node_def):
    from millstream.proto import summary_pb2
    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    return summary_pb2.SummaryMetadata(summary_description=node_def.attr["description"].s.decode())
