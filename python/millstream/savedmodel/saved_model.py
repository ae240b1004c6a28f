# SPDX-License-Identifier: Apache-2.0
"""SavedModels: written and loaded, with TensorFlow's files."""
from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import ops
from millstream.platform.local_files import local_path
from millstream.savedmodel import constants, signatures
from millstream.training import checkpoint_management, saver as saver_lib

if TYPE_CHECKING:
    from typing import Any


class SavedModelBuilder:
    """One folder with graphs, variables and assets."""

    def __init__(self, export_dir):
        from millstream.proto import saved_model_pb2
        export_dir = os.fsdecode(export_dir)
        if os.path.isdir(local_path(export_dir)) and os.listdir(local_path(export_dir)):
            raise AssertionError(f"Export directory {export_dir} already exists, and isn't empty. Please choose a different export "
                                 "directory, or delete all the contents of the specified directory.")
        _core.make_folders(os.fspath(export_dir))
        self._export_dir = export_dir
        self._saved_model = saved_model_pb2.SavedModel(saved_model_schema_version=constants.SAVED_MODEL_SCHEMA_VERSION)
        self._has_saved_variables = False

    def _add(self, sess, tags, signature_def_map, assets, init_op, clear_devices, strip_default_attrs, saver):
        for name, signature in (signature_def_map or {}).items():
            for info in list(signature.inputs.values()) + list(signature.outputs.values()):
                if not info.name and not info.WhichOneof("encoding"):
                    raise AssertionError(f"A tensor of the signature {name} has no name")
        if init_op is not None:
            ops.add_to_collection(constants.MAIN_OP_KEY, init_op)
        meta = saver_lib.export_meta_graph(graph=sess.graph, saver_def=saver.saver_def if saver.saver_def else None,
                                           clear_devices=clear_devices, strip_default_attrs=strip_default_attrs)
        meta.meta_info_def.tags.extend(tags)
        self._save_assets(assets, meta)
        for key, signature in (signature_def_map or {}).items():
            meta.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(meta)

    def _save_assets(self, assets, meta):
        """Copies the files that the tensors name into the model; `meta` says which tensor gets which file when it is loaded."""
        folder = os.path.join(self._export_dir, constants.ASSETS_DIRECTORY)
        for tensor in assets or []:
            from millstream.framework import tensor_util
            path = tensor_util.constant_value(tensor)
            path = (path.item() if hasattr(path, "item") else path)
            path = path.decode() if isinstance(path, bytes) else str(path)
            _core.make_folders(os.fspath(folder))
            shutil.copyfile(local_path(path), os.path.join(local_path(folder), os.path.basename(path)))
            entry = meta.asset_file_def.add(filename=os.path.basename(path))
            entry.tensor_info.name = tensor.name

    def add_meta_graph_and_variables(self, sess: Any, tags: Any, signature_def_map: Any = None, assets_collection: Any = None,
                                     legacy_init_op: Any = None, clear_devices: bool = False, main_op: Any = None,
                                     strip_default_attrs: bool = False, saver: Any = None) -> None:
        if self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has already been saved. Please invoke "
                                 "`add_meta_graph()` instead.")
        with sess.graph.as_default():
            saver = saver or self._saver()
            folder = os.path.join(self._export_dir, constants.VARIABLES_DIRECTORY)
            _core.make_folders(os.fspath(folder))
            saver.save(sess, os.path.join(folder, constants.VARIABLES_FILENAME), write_meta_graph=False, write_state=False)
            self._add(sess, tags, signature_def_map, assets_collection, main_op if main_op is not None else legacy_init_op,
                      clear_devices, strip_default_attrs, saver)
        self._has_saved_variables = True

    def add_meta_graph(self, tags: Any, signature_def_map: Any = None, assets_collection: Any = None,
                       legacy_init_op: Any = None, clear_devices: bool = False, main_op: Any = None,
                       strip_default_attrs: bool = False, saver: Any = None) -> None:
        if not self._has_saved_variables:
            raise AssertionError("Graph state including variables and assets has not been saved yet. Please invoke "
                                 "`add_meta_graph_and_variables()` first.")
        session = type("_Graph", (), {"graph": ops.get_default_graph()})()
        self._add(session, tags, signature_def_map, assets_collection, main_op if main_op is not None else legacy_init_op,
                  clear_devices, strip_default_attrs, saver or self._saver())

    @staticmethod
    def _saver():
        return saver_lib.Saver(sharded=True, write_version=2, allow_empty=True)

    def save(self, as_text: bool = False) -> bytes:
        if as_text:
            from google.protobuf import text_format
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
            checkpoint_management.write_atomically(path, text_format.MessageToString(self._saved_model))
        else:
            path = os.path.join(self._export_dir, constants.SAVED_MODEL_FILENAME_PB)
            checkpoint_management.write_atomically(path, self._saved_model.SerializeToString())
        return path.encode()


def simple_save(session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None) -> None:
    """A SavedModel for serving with one signature."""
    builder = SavedModelBuilder(export_dir)
    signature = {constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signatures.predict_signature_def(inputs, outputs)}
    builder.add_meta_graph_and_variables(session, [constants.SERVING], signature,
                                         assets_collection=ops.get_collection(ops.GraphKeys.ASSET_FILEPATHS),
                                         main_op=legacy_init_op, clear_devices=True)
    builder.save()


def parse_saved_model(export_dir):
    from google.protobuf import text_format
    from millstream.proto import saved_model_pb2
    export_dir = os.fsdecode(export_dir)
    binary = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PB)
    text = os.path.join(export_dir, constants.SAVED_MODEL_FILENAME_PBTXT)
    if os.path.exists(local_path(binary)):
        with open(local_path(binary), "rb") as f:
            return saved_model_pb2.SavedModel.FromString(f.read())
    if os.path.exists(local_path(text)):
        with open(local_path(text), encoding="utf-8") as f:
            return text_format.Merge(f.read(), saved_model_pb2.SavedModel())
    raise IOError(f"SavedModel file does not exist at: {export_dir}{os.sep}{{{constants.SAVED_MODEL_FILENAME_PBTXT}|"
                  f"{constants.SAVED_MODEL_FILENAME_PB}}}")


def maybe_saved_model_directory(export_dir: Any) -> bool:
    return any(os.path.exists(os.path.join(local_path(export_dir), name))
               for name in (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT))


contains_saved_model = maybe_saved_model_directory


def _asset_feeds(meta, export_dir, import_scope):
    """The paths that the tensors of a model's assets have here."""
    folder = os.path.join(export_dir, constants.ASSETS_DIRECTORY)
    return {ops.prepend_name_scope(a.tensor_info.name, import_scope): os.path.join(folder, a.filename)
            for a in meta.asset_file_def}


def load(sess: Any, tags: Any, export_dir: Any, import_scope: Any = None, **saver_kwargs: Any) -> Any:
    """Imports the graph with these tags and restores its variables; returns its MetaGraphDef."""
    export_dir = os.fsdecode(export_dir)
    model = parse_saved_model(export_dir)
    wanted = set(tags)
    found = [m for m in model.meta_graphs if set(m.meta_info_def.tags) == wanted]
    if not found:
        available = [sorted(m.meta_info_def.tags) for m in model.meta_graphs]
        raise RuntimeError(f"MetaGraphDef associated with tags {str(sorted(tags))[1:-1]} could not be found in SavedModel, with "
                           f"available tags '{available}'.")
    meta = found[0]
    with sess.graph.as_default():
        saver = saver_lib.import_meta_graph(meta, import_scope=import_scope, **saver_kwargs)
        if saver is not None:
            saver.restore(sess, os.path.join(export_dir, constants.VARIABLES_DIRECTORY, constants.VARIABLES_FILENAME))
        for key in (constants.MAIN_OP_KEY, constants.LEGACY_INIT_OP_KEY):
            if key in meta.collection_def:
                for name in meta.collection_def[key].node_list.value:
                    sess.run(ops.prepend_name_scope(name, import_scope), _asset_feeds(meta, export_dir, import_scope))
                break
    return meta
