# SPDX-License-Identifier: Apache-2.0
"""tf.contrib.predictor: an exported model, or an estimator, as a function of arrays."""
from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.client import session as session_lib
from millstream.estimators.model_fn import ModeKeys
from millstream.framework import ops
from millstream.savedmodel import constants, saved_model

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph


class Predictor:
    """predictor({"input": array}) gives {"output": array}."""

    def __init__(self, session, graph, feed_tensors, fetch_tensors):
        self.session, self.graph, self.feed_tensors, self.fetch_tensors = session, graph, feed_tensors, fetch_tensors

    def __call__(self, input_dict):
        unknown = set(input_dict) - set(self.feed_tensors)
        if unknown:
            raise ValueError(f"Got unexpected keys in input_dict: {unknown}\nexpected: {sorted(self.feed_tensors)}")
        feed = {self.feed_tensors[k]: v for k, v in input_dict.items() if v is not None}
        return self.session.run(self.fetch_tensors, feed)


def from_saved_model(export_dir: Any, signature_def_key: Any = None, signature_def: Any = None, input_names: Any = None,
                     output_names: Any = None, tags: Any = None, graph: Optional[Graph] = None, config: Any = None) -> Any:
    """By a signature ("serving_default" unless told otherwise), or by names of tensors."""
    graph = graph or ops.Graph()
    tags = tags.split(",") if isinstance(tags, str) else list(tags or [constants.SERVING])
    with graph.as_default():
        session = session_lib.Session(graph=graph, config=config)
        meta = saved_model.load(session, tags, export_dir)
    if input_names is None or output_names is None:
        if signature_def is None:
            key = signature_def_key or constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
            if key not in meta.signature_def:
                raise ValueError(f"Got signature_def_key \"{key}\". Available signatures are {sorted(meta.signature_def)}.")
            signature_def = meta.signature_def[key]
        input_names = input_names or {k: v.name for k, v in signature_def.inputs.items()}
        output_names = output_names or {k: v.name for k, v in signature_def.outputs.items()}
    find = graph.get_tensor_by_name
    return Predictor(session, graph, {k: find(n) for k, n in input_names.items()}, {k: find(n) for k, n in output_names.items()})


def from_estimator(estimator: Any, serving_input_receiver_fn: Any, output_key: Any = None, graph: Optional[Graph] = None,
                   config: Any = None) -> Any:
    """The newest checkpoint of an estimator."""
    from millstream.training import monitored_session
    graph = graph or ops.Graph()
    with graph.as_default():
        from millstream.training import training_util
        training_util.create_global_step(graph)
        receiver = serving_input_receiver_fn()
        spec = estimator._call_model_fn(receiver.features, None, ModeKeys.PREDICT, estimator.config)
        creator = monitored_session.ChiefSessionCreator(scaffold=spec.scaffold, config=config,
                                                        checkpoint_filename_with_path=estimator.latest_checkpoint())
        session = monitored_session.MonitoredSession(creator)
    outputs = spec.predictions if isinstance(spec.predictions, dict) else {"output": spec.predictions}
    return Predictor(session, graph, receiver.receiver_tensors, {k: v for k, v in outputs.items() if output_key in (None, k)})
