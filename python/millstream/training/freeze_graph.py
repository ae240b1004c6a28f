# SPDX-License-Identifier: Apache-2.0
"""tensorflow.python.tools.freeze_graph: a graph and a checkpoint as one graph with constants."""
from millstream import gen_ops
from millstream.client import session
from millstream.framework import dtypes, graph_util, importer
from millstream.framework.graph import Graph
from millstream.ops.arguments import unsupported
from millstream.platform.local_files import local_path
from millstream.training import checkpoint_management, checkpoint_utils, saver


def _parsed(path, message, binary):
    from google.protobuf import text_format
    with open(local_path(path), "rb") as f:
        text = f.read()
    if binary:
        message.ParseFromString(text)
    else:
        text_format.Parse(text.decode(), message)
    return message


def _names(text):
    return text.replace(" ", "").split(",") if text else None


def freeze_graph_with_def_protos(input_graph_def, input_saver_def, input_checkpoint, output_node_names, restore_op_name=None,
                                 filename_tensor_name=None, output_graph="", clear_devices=True, initializer_nodes="",
                                 variable_names_whitelist="", variable_names_blacklist="", input_meta_graph_def=None,
                                 input_saved_model_dir=None, saved_model_tags=None, checkpoint_version=None):
    """The GraphDef of what `output_node_names` (a text, "a,b") need, with the checkpoint's values; written to `output_graph`."""
    unsupported("freeze_graph", input_saved_model_dir=input_saved_model_dir or None, saved_model_tags=saved_model_tags)
    if not checkpoint_management.checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    source = input_meta_graph_def.graph_def if input_meta_graph_def is not None else input_graph_def
    if clear_devices:
        for node in source.node:
            node.device = ""
    with Graph().as_default(), session.Session() as sess:
        if input_meta_graph_def is not None:
            saver.import_meta_graph(input_meta_graph_def, clear_devices=clear_devices).restore(sess, input_checkpoint)
        else:
            importer.import_graph_def(source, name="")
            if input_saver_def is not None:
                saver.Saver(saver_def=input_saver_def).restore(sess, input_checkpoint)
            else:
                _restore(sess, input_checkpoint)
        if initializer_nodes:
            sess.run(_names(initializer_nodes))
        frozen = graph_util.convert_variables_to_constants(sess, source, _names(output_node_names),
                                                           _names(variable_names_whitelist), _names(variable_names_blacklist))
    if output_graph:
        with open(local_path(output_graph), "wb") as f:
            f.write(frozen.SerializeToString())
    return frozen


def _restore(sess, checkpoint):
    """Gives the variables of the graph their values; the checkpoint may have more: slots, steps."""
    reader = checkpoint_utils.NewCheckpointReader(checkpoint)
    types = reader.get_variable_to_dtype_map()
    for name in types:
        try:
            variable = sess.graph.get_tensor_by_name(name + ":0")
        except KeyError:
            continue
        value = gen_ops.placeholder(types[name])
        assign = gen_ops.assign_variable_op if variable.dtype == dtypes.resource else gen_ops.assign
        sess.run(assign(variable, value), {value: reader.get_tensor(name)})


def freeze_graph(input_graph, input_saver, input_binary, input_checkpoint, output_node_names, restore_op_name,
                 filename_tensor_name, output_graph, clear_devices, initializer_nodes, variable_names_whitelist="",
                 variable_names_blacklist="", input_meta_graph=None, input_saved_model_dir=None, saved_model_tags="serve",
                 checkpoint_version=None):
    """As freeze_graph_with_def_protos(), of files."""
    if input_saved_model_dir:
        raise NotImplementedError("freeze_graph() of a SavedModel: load it, then use graph_util.convert_variables_to_constants()")
    from millstream.proto import graph_pb2, meta_graph_pb2, saver_pb2
    graph_def = _parsed(input_graph, graph_pb2.GraphDef(), input_binary) if input_graph else None
    meta_graph_def = _parsed(input_meta_graph, meta_graph_pb2.MetaGraphDef(), input_binary) if input_meta_graph else None
    saver_def = _parsed(input_saver, saver_pb2.SaverDef(), input_binary) if input_saver else None
    return freeze_graph_with_def_protos(graph_def, saver_def, input_checkpoint, output_node_names, restore_op_name,
                                        filename_tensor_name, output_graph, clear_devices, initializer_nodes,
                                        variable_names_whitelist, variable_names_blacklist, meta_graph_def)
