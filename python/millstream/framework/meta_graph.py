# SPDX-License-Identifier: Apache-2.0
"""Meta graphs: a graph with its collections and the ops that it uses."""
import os

from millstream import _core
from millstream.framework import importer, scopes
from millstream.framework.operation import Operation
from millstream.framework.tensor import Tensor
from millstream.platform import version
from millstream.platform.local_files import local_path

_proto_functions: dict = {}  # collection -> (message type, to_proto, from_proto)


def register_proto_function(collection_name, proto_type=None, to_proto=None, from_proto=None):
    """How the items of a collection become messages: to_proto(item, export_scope=) and from_proto(message, import_scope=)."""
    if to_proto and not callable(to_proto):
        raise TypeError("to_proto must be callable.")
    if from_proto and not callable(from_proto):
        raise TypeError("from_proto must be callable.")
    _proto_functions[collection_name] = (proto_type, to_proto, from_proto)


def get_collection_proto_type(name):
    return _proto_functions.get(name, (None,) * 3)[0]


def get_to_proto_function(name):
    return _proto_functions.get(name, (None,) * 3)[1]


def get_from_proto_function(name):
    return _proto_functions.get(name, (None,) * 3)[2]


def _in_scope(name, export_scope):
    if not export_scope:
        return True
    scope = export_scope if export_scope.endswith("/") else export_scope + "/"
    return name.startswith(scope)


def _kind_of(items):
    first = items[0]
    if hasattr(first, "name") and isinstance(first, (Tensor, Operation)) or hasattr(first, "_as_graph_element"):
        return "node_list"
    if isinstance(first, bool):
        return None
    if isinstance(first, int):
        return "int64_list"
    if isinstance(first, float):
        return "float_list"
    if isinstance(first, (str, bytes)):
        return "bytes_list"
    return None


def add_collection_def(meta_graph_def, key, graph=None, export_scope=None, exclude_nodes=None, override_contents=None):
    """Writes one collection into a meta graph; items that no message can carry leave it out, with a warning."""
    graph = graph or scopes.get_default_graph()
    items = override_contents or graph.get_collection(key)
    if not isinstance(key, str) or not items:
        return
    to_proto = get_to_proto_function(key)
    definition = meta_graph_def.collection_def[key]
    try:
        if to_proto is not None:
            for item in items:
                message = to_proto(item, export_scope=export_scope)
                if message is not None:
                    definition.bytes_list.value.append(message.SerializeToString())
        else:
            _add_plain(definition, items, export_scope)
    except (TypeError, ValueError, AttributeError) as error:
        from millstream.framework import log
        log.warning("Issue encountered when serializing %s.\n%s", key, error)
        del meta_graph_def.collection_def[key]
        return
    if not definition.WhichOneof("kind"):
        del meta_graph_def.collection_def[key]


def _add_plain(definition, items, export_scope):
    kind = _kind_of(items)
    if kind is None:
        raise TypeError(f"Can't serialize {items[0]!r}")
    values = getattr(definition, kind).value
    for item in items:
        if kind == "node_list":
            if _in_scope(item.name, export_scope):
                values.append(scopes.strip_name_scope(item.name, export_scope))
        elif kind == "bytes_list":
            values.append(item.encode() if isinstance(item, str) else item)
        else:
            values.append(item)


def _add_ops(meta_graph_def):
    from millstream.proto import op_def_pb2
    known = set(_core.op_names())
    for name in sorted({node.op for node in meta_graph_def.graph_def.node}):
        if name in known:
            op = op_def_pb2.OpDef.FromString(_core.op_def(name))
            op.ClearField("description")
            meta_graph_def.meta_info_def.stripped_op_list.op.append(op)


def create_meta_graph_def(meta_info_def=None, graph_def=None, saver_def=None, collection_list=None, graph=None,
                          export_scope=None, strip_default_attrs=False):
    from millstream.proto import graph_pb2, meta_graph_pb2
    graph = graph or scopes.get_default_graph()
    meta_graph_def = meta_graph_pb2.MetaGraphDef()
    if meta_info_def is not None:
        meta_graph_def.meta_info_def.MergeFrom(meta_info_def)
    meta_graph_def.meta_info_def.tensorflow_version = version.VERSION
    meta_graph_def.meta_info_def.tensorflow_git_version = version.GIT_VERSION
    meta_graph_def.meta_info_def.stripped_default_attrs = bool(strip_default_attrs)
    if graph_def is None:
        graph_def = graph_pb2.GraphDef.FromString(graph._core.to_graph_def(0, bool(strip_default_attrs)))
    meta_graph_def.graph_def.MergeFrom(graph_def)
    _add_ops(meta_graph_def)
    if saver_def is not None:
        meta_graph_def.saver_def.MergeFrom(saver_def)
    for key in graph.get_all_collection_keys() if collection_list is None else collection_list:
        add_collection_def(meta_graph_def, key, graph, export_scope)
    return meta_graph_def


def _strip_scope(graph_def, export_scope, clear_devices):
    """The nodes of a scope, without its name in theirs."""
    from millstream.proto import graph_pb2
    out = graph_pb2.GraphDef()
    out.versions.CopyFrom(graph_def.versions)
    out.library.CopyFrom(graph_def.library)
    for node in graph_def.node:
        if not _in_scope(node.name, export_scope):
            continue
        node = out.node.add(**{}) if node is None else _copied(out, node)
        node.name = scopes.strip_name_scope(node.name, export_scope)
        inputs = [i for i in node.input if _in_scope(i.lstrip("^"), export_scope)]
        if len(inputs) != len(node.input):
            outside = [i for i in node.input if not i.startswith("^") and not _in_scope(i, export_scope)]
            if outside:
                raise ValueError(f"Graph contains unbound inputs: {outside}. Must provide these inputs through input_map.")
        del node.input[:]
        node.input.extend(scopes.strip_name_scope(i, export_scope) for i in inputs)
        if "_class" in node.attr:
            groups = [scopes.strip_name_scope(g.decode(), export_scope).encode() for g in node.attr["_class"].list.s
                      if _in_scope(g.decode()[5:], export_scope)]
            del node.attr["_class"].list.s[:]
            node.attr["_class"].list.s.extend(groups)
        if clear_devices:
            node.device = ""
    return out


def _copied(graph_def, node):
    copy = graph_def.node.add()
    copy.CopyFrom(node)
    return copy


def export_scoped_meta_graph(filename=None, graph_def=None, graph=None, export_scope=None, as_text=False, clear_devices=False,
                             saver_def=None, collection_list=None, strip_default_attrs=False, meta_info_def=None, **kwargs):
    del kwargs
    from millstream.proto import graph_pb2
    graph = graph or scopes.get_default_graph()
    if graph_def is None:
        graph_def = graph_pb2.GraphDef.FromString(graph._core.to_graph_def(0, bool(strip_default_attrs)))
    if export_scope:
        graph_def = _strip_scope(graph_def, export_scope, clear_devices)
    elif clear_devices:
        for node in graph_def.node:
            node.device = ""
    meta_graph_def = create_meta_graph_def(meta_info_def, graph_def, saver_def, collection_list, graph, export_scope,
                                           strip_default_attrs)
    if filename:
        write_message(filename, meta_graph_def, as_text)
    return meta_graph_def


def write_message(filename, message, as_text=False):
    path = os.fspath(filename)
    folder = os.path.dirname(path)
    if folder:
        _core.make_folders(folder)
    if as_text:
        from google.protobuf import text_format
        data = text_format.MessageToString(message).encode()
    else:
        data = message.SerializeToString()
    _core.write_file_atomically(path, data)
    return filename


def read_meta_graph_file(filename):
    from google.protobuf import text_format
    from millstream.proto import meta_graph_pb2
    if not os.path.isfile(local_path(filename)):
        raise IOError(f"File {filename} does not exist.")
    with open(local_path(filename), "rb") as f:
        data = f.read()
    meta_graph_def = meta_graph_pb2.MetaGraphDef()
    try:
        meta_graph_def.ParseFromString(data)
        return meta_graph_def
    except Exception:  # noqa: BLE001  the parser's error depends on protobuf's implementation
        try:
            return text_format.Merge(data.decode(), meta_graph_pb2.MetaGraphDef())
        except (text_format.ParseError, UnicodeDecodeError) as error:
            raise IOError(f"Cannot parse file {filename}: {error}.") from None


def import_scoped_meta_graph(meta_graph_or_file, clear_devices=False, graph=None, import_scope=None, input_map=None,
                             restore_collections_predicate=lambda key: True):
    """Adds a meta graph to a graph, with its collections."""
    if isinstance(meta_graph_or_file, (str, bytes, os.PathLike)):
        meta_graph_def = read_meta_graph_file(os.fspath(meta_graph_or_file))
    else:
        from millstream.proto import meta_graph_pb2
        meta_graph_def = meta_graph_pb2.MetaGraphDef.FromString(meta_graph_or_file.SerializeToString())
    graph = graph or scopes.get_default_graph()
    with graph.as_default():
        graph_def = meta_graph_def.graph_def
        if clear_devices:
            for node in graph_def.node:
                node.device = ""
        importer.import_graph_def(graph_def, name=import_scope or "", input_map=input_map)
        scope = graph.get_name_scope()
        import_scope = f"{scope}/{import_scope}".strip("/") if import_scope else scope
        for key in sorted(meta_graph_def.collection_def):
            if restore_collections_predicate(key):
                _restore_collection(graph, key, meta_graph_def.collection_def[key], import_scope)
    return meta_graph_def


def _restore_collection(graph, key, definition, import_scope):
    kind = definition.WhichOneof("kind")
    if kind is None:
        return
    from_proto = get_from_proto_function(key)
    if from_proto is not None and kind == "bytes_list":
        message_type = get_collection_proto_type(key)
        for value in definition.bytes_list.value:
            graph.add_to_collection(key, from_proto(message_type.FromString(value), import_scope=import_scope))
        return
    for value in getattr(definition, kind).value:
        if kind == "node_list":
            value = graph.as_graph_element(scopes.prepend_name_scope(value, import_scope))
        graph.add_to_collection(key, value)
