# SPDX-License-Identifier: Apache-2.0
"""Messages that programs use, each loaded with the first use of its name."""
import importlib

_MODULES = {
    "config": "ConfigProto GPUOptions GraphOptions OptimizerOptions RunOptions RunMetadata CallableOptions RPCOptions",
    "graph": "GraphDef", "meta_graph": "MetaGraphDef TensorInfo SignatureDef", "node_def": "NodeDef",
    "attr_value": "AttrValue NameAttrList", "summary": "Summary SummaryMetadata HistogramProto",
    "event": "Event LogMessage SessionLog TaggedRunMetadata",
    "example": "Example SequenceExample",
    "feature": "Feature Features FeatureList FeatureLists BytesList FloatList Int64List",
    "cluster": "ClusterDef JobDef", "tensorflow_server": "ServerDef", "saver": "SaverDef",
    "queue_runner": "QueueRunnerDef", "tensor": "TensorProto", "tensor_shape": "TensorShapeProto",
    "rewriter_config": "RewriterConfig", "variable": "VariableDef SaveSliceInfoDef", "saved_model": "SavedModel",
    "function": "FunctionDef FunctionDefLibrary", "op_def": "OpDef OpList", "step_stats": "StepStats",
    "checkpoint_state": "CheckpointState", "histogram": "HistogramProto", "device_attributes": "DeviceAttributes",
}
_BY_NAME: dict = {}
for _module, _names in _MODULES.items():
    for _name in _names.split():
        _BY_NAME.setdefault(_name, []).append(_module)


def __getattr__(name):
    for module in _BY_NAME.get(name, ()):
        found = getattr(importlib.import_module(f"millstream.proto.{module}_pb2"), name, None)
        if found is not None:
            globals()[name] = found
            return found
    raise AttributeError(f"There is no message '{name}'")
