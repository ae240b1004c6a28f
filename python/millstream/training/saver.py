# SPDX-License-Identifier: Apache-2.0
"""Saver: checkpoints of variables."""
from __future__ import annotations

import contextlib
import os
import threading
import time
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import errors, meta_graph, ops
from millstream.ops.variables import variable_collections
from millstream.platform.local_files import local_path
from millstream.training import checkpoint_management, shared_disk, training_util
from millstream.training.saver_builder import BaseSaverBuilder, BulkSaverBuilder

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.graph import Graph

_SAVERS = ops.GraphKeys.SAVERS


def _check_session(sess, what):
    from millstream.client import session
    if not isinstance(sess, session.BaseSession):
        raise TypeError(f"'sess' must be a Session; {sess}. A MonitoredSession cannot {what}: use a CheckpointSaverHook, or the "
                        "session that hooks are given (run_context.session), or SingularMonitoredSession.raw_session().")


def _raise_if_incomplete(path, error):
    """NotFoundError with the name of the file, if one of the checkpoint's files is missing."""
    try:
        _core.check_checkpoint_files(path)
    except errors.OpError as problem:
        raise errors.NotFoundError(error.node_def, error.op, f"The checkpoint {path} is incomplete: {problem.message}") from None


def _make_folder(folder):
    try:
        _core.make_folders(folder)
    except errors.OpError:
        pass  # the save says why


class Saver:
    """Saves variables to files that TensorFlow restores, and back. Keeps the last `max_to_keep` and, beyond those, one of every
    `keep_checkpoint_every_n_hours`.

    A sharded saver lets each task of a cluster write its own variables, if all see the disk of this process; otherwise everything
    goes through the chief. `through_chief` True or False says it without looking."""

    def __init__(self, var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0,
                 name=None, restore_sequentially=False, saver_def=None, builder=None, defer_build=False, allow_empty=False,
                 write_version=2, pad_step_number=False, save_relative_paths=False, filename=None, through_chief=None):
        if defer_build and var_list:
            raise ValueError("If `var_list` is provided then build cannot be deferred. Either set defer_build=False or "
                             "var_list=None.")
        self._var_list, self._reshape, self._sharded, self._max_to_keep = var_list, reshape, sharded, max_to_keep
        self._keep_hours, self._name, self._sequential = keep_checkpoint_every_n_hours, name, restore_sequentially
        self.saver_def, self._builder, self._allow_empty = saver_def, builder, allow_empty
        self._write_version, self._pad_step_number = write_version, pad_step_number
        self._filename, self._save_relative_paths = filename, save_relative_paths
        self._through_chief, self._shared_folders = through_chief, {}
        self._background, self._meta_graph = None, None
        self._last_checkpoints = []       # (path, time)
        self._checkpoints_to_be_deleted = []
        self._lock = threading.RLock()
        self._is_built = self._is_empty = False
        self._next_checkpoint_time = None
        if not defer_build:
            self.build()
        if self.saver_def:
            self._check_saver_def()

    def build(self) -> None:
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            if self._builder is None:
                self._builder = BulkSaverBuilder(self._write_version)
            if self._var_list is None:
                self._var_list = variable_collections._all_saveable_objects()
            if not self._var_list:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self.saver_def = self._builder.build(self._var_list, reshape=self._reshape, sharded=self._sharded,
                                                 max_to_keep=self._max_to_keep, name=self._name,
                                                 keep_checkpoint_every_n_hours=self._keep_hours,
                                                 restore_sequentially=self._sequential, filename=self._filename)
        elif self.saver_def and self._name:
            for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
                setattr(self.saver_def, field, ops.prepend_name_scope(getattr(self.saver_def, field), self._name))
        self._check_saver_def()
        self._next_checkpoint_time = time.time() + self.saver_def.keep_checkpoint_every_n_hours * 3600

    def _check_saver_def(self):
        if not hasattr(self.saver_def, "save_tensor_name"):
            raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
        for field in ("save_tensor_name", "restore_op_name"):
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    def _require_built(self, what):
        if not self._is_built:
            raise RuntimeError(f"`build()` should be called before {what} if defer_build==True")

    # Saving.

    def _add_background_nodes(self):
        """Before the graph is finalized. Then _background.keep() keeps values for save(..., _kept=True) in another thread."""
        if self._background is None and self._is_built and not self._is_empty and isinstance(self._builder, BaseSaverBuilder):
            if not ops.get_default_graph().finalized:
                self._background = self._builder.build_background(self.saver_def)

    def save(self, sess: Any, save_path: str, global_step: Any = None, latest_filename: Any = None,
             meta_graph_suffix: str = "meta", write_meta_graph: bool = True, write_state: bool = True,
             strip_default_attrs: bool = False, save_debug_info: bool = False, _kept: bool = False) -> str:
        """Writes a checkpoint `save_path` or `save_path-global_step`; returns its path."""
        with self._lock:  # a supervisor's thread and the program may save at the same time
            return self._save(sess, save_path, global_step, latest_filename, meta_graph_suffix, write_meta_graph, write_state,
                              strip_default_attrs, _kept)

    def _save(self, sess, save_path, global_step, latest_filename, meta_graph_suffix, write_meta_graph, write_state,
              strip_default_attrs, kept):
        self._require_built("save")
        _check_session(sess, "be saved from")
        if latest_filename is None:
            latest_filename = "checkpoint"
        if os.path.split(latest_filename)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        save_path = os.fspath(save_path)
        path = save_path
        if global_step is not None:
            if not isinstance(global_step, int) and not hasattr(global_step, "__index__"):
                global_step = training_util.global_step(sess, global_step)
            path = f"{save_path}-{int(global_step):08d}" if self._pad_step_number else f"{save_path}-{int(global_step)}"
        elif os.path.basename(save_path) == latest_filename and not self._sharded:
            raise ValueError(f"'latest_filename' collides with 'save_path': '{latest_filename}' and '{save_path}'")
        folder = os.path.dirname(save_path)
        if self._is_empty:
            return None
        if not os.path.isdir(os.path.dirname(os.path.abspath(local_path(folder)))):  # one folder is made, not several
            raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.")
        if folder:
            _make_folder(folder)
        existed, recorded = checkpoint_management.checkpoint_exists(path), (self._last_checkpoints, self._checkpoints_to_be_deleted)
        self._last_checkpoints, self._checkpoints_to_be_deleted = map(list, recorded)
        in_progress = _core.SaveInProgress(path)  # deletes what dead processes have left
        try:
            path = self._run_save(sess, save_path, folder, path, kept)
            if write_meta_graph:
                self._write_meta_graph(sess, checkpoint_management.meta_graph_filename(path, meta_graph_suffix), strip_default_attrs)
            if write_state:  # last: before it, the old checkpoint is the latest
                self._record(path)
                checkpoint_management.update_checkpoint_state_internal(
                    folder or ".", path, self.last_checkpoints, latest_filename, self._save_relative_paths)
            in_progress.succeed()
        except BaseException:
            self._last_checkpoints, self._checkpoints_to_be_deleted = recorded
            if not existed:  # nobody would delete it later
                with contextlib.suppress(OSError):
                    checkpoint_management.remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
            raise
        finally:
            in_progress.fail()  # deletes what a failed one leaves; nothing if it has succeeded
        if write_state:
            self._delete_old(meta_graph_suffix)
        return path

    def _run_save(self, sess, save_path, folder, path, kept):
        try:
            path = sess.run(self._save_name(sess, folder or ".", kept), {self.saver_def.filename_tensor_name: path})
        except (errors.FailedPreconditionError, errors.NotFoundError):
            if folder and not os.path.isdir(local_path(folder)):
                raise ValueError(f"Parent directory of {save_path} doesn't exist, can't save.") from None
            raise
        return path.decode() if isinstance(path, bytes) else str(path)

    def _write_meta_graph(self, sess, name, strip_default_attrs):
        """A graph that cannot change any more is made into bytes once."""
        key = sess.graph, sess.graph.version, strip_default_attrs
        if self._meta_graph is None or self._meta_graph[0] != key:
            with sess.graph.as_default():
                data = self.export_meta_graph(strip_default_attrs=strip_default_attrs).SerializeToString()
            self._meta_graph = (key, data) if sess.graph.finalized else None
        else:
            data = self._meta_graph[1]
        checkpoint_management.write_atomically(name, data)

    def _save_name(self, sess, folder, kept):
        """The tensor that saves: on the tasks themselves, or on the chief; what is now, or what was kept."""
        by_tasks = self._background.save if kept else self.saver_def.save_tensor_name
        detour = self._through_chief is not False and shared_disk.detour_of(sess.graph, self.saver_def)
        if not detour:
            return by_tasks
        by_chief = self._background.through_chief if kept else detour.save
        if self._through_chief:
            return by_chief
        key = sess.sess_str, os.path.abspath(local_path(folder))
        if key not in self._shared_folders:
            shared = self._shared_folders[key] = shared_disk.sees_folder(sess, self.saver_def, detour, folder)
            if not shared:
                from millstream.framework import log
                log.info("Not all tasks can access %s: checkpoints are written by the chief.", folder)
        return by_tasks if self._shared_folders[key] else by_chief

    def _restore_name(self, sess, save_path):
        detour = self._through_chief is not False and shared_disk.detour_of(sess.graph, self.saver_def)
        if not detour:
            return self.saver_def.restore_op_name
        index = save_path + ".index"
        if self._through_chief or os.path.exists(local_path(index)) and not shared_disk.sees_file(sess, self.saver_def, detour, index):
            return detour.restore
        return self.saver_def.restore_op_name

    def _record(self, path):
        if self.saver_def.max_to_keep <= 0:
            return
        self._last_checkpoints = [c for c in self._last_checkpoints if c[0] != path] + [(path, time.time())]
        if len(self._last_checkpoints) > self.saver_def.max_to_keep:
            self._checkpoints_to_be_deleted.append(self._last_checkpoints.pop(0))

    def _delete_old(self, meta_graph_suffix):
        if not self._checkpoints_to_be_deleted:
            return
        path, when = self._checkpoints_to_be_deleted.pop(0)
        if when > (self._next_checkpoint_time or float("inf")):  # one to keep for good
            self._next_checkpoint_time += self.saver_def.keep_checkpoint_every_n_hours * 3600
            return
        try:
            checkpoint_management.remove_checkpoint(path, self.saver_def.version, meta_graph_suffix)
        except OSError as error:
            from millstream.framework import log
            log.warning("Ignoring: %s", str(error))

    # Restoring.

    def restore(self, sess: Any, save_path: str) -> None:
        """Reads the variables; they need not be initialized before."""
        self._require_built("restore")
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        save_path = os.fspath(save_path)
        if isinstance(save_path, bytes):
            save_path = save_path.decode()
        if not checkpoint_management.checkpoint_exists(save_path):
            raise ValueError("The passed save_path is not a valid checkpoint: " + save_path)
        from millstream.framework import log
        log.info("Restoring parameters from %s", save_path)
        try:
            sess.run(self._restore_name(sess, save_path), {self.saver_def.filename_tensor_name: save_path})
        except errors.NotFoundError as error:
            _raise_if_incomplete(save_path, error)
            raise errors.NotFoundError(error.node_def, error.op, "Restoring from checkpoint failed. This is most likely due to a "
                                       "Variable name or other graph key that is missing from the checkpoint. Please ensure "
                                       "that you have not altered the graph expected based on the checkpoint. Original error:"
                                       f"\n\n{error.message}") from None
        except errors.InvalidArgumentError as error:
            raise errors.InvalidArgumentError(error.node_def, error.op, "Restoring from checkpoint failed. This is most likely "
                                              "due to a mismatch between the current graph and the graph from the checkpoint. "
                                              "Please ensure that you have not altered the graph expected based on the "
                                              f"checkpoint. Original error:\n\n{error.message}") from None

    # What has been saved.

    @property
    def last_checkpoints(self) -> list[str]:
        """The prefixes of the checkpoints that are kept, oldest first."""
        return [path for path, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Any) -> None:
        self._last_checkpoints = [(path, float("inf")) for path in last_checkpoints]

    def set_last_checkpoints_with_time(self, last_checkpoints_with_time: Any) -> None:
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Any) -> None:
        """After a restart: goes on keeping and deleting what an earlier process has saved."""
        existing = [p for p in checkpoint_paths if checkpoint_management.checkpoint_exists(p)]
        self._last_checkpoints = list(zip(existing, checkpoint_management.get_checkpoint_mtimes(existing)))

    # Messages.

    def as_saver_def(self) -> Any:
        return self.saver_def

    def to_proto(self, export_scope=None):
        if export_scope is None:
            return self.saver_def
        from millstream.proto import saver_pb2
        out = saver_pb2.SaverDef()
        out.CopyFrom(self.saver_def)
        for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
            value = getattr(out, field)
            if not value.startswith(export_scope):
                return None
            setattr(out, field, ops.strip_name_scope(value, export_scope))
        return out

    @staticmethod
    def from_proto(saver_def: Any, import_scope: Any = None) -> Any:
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(self, filename: Optional[str] = None, collection_list: Any = None, as_text: bool = False,
                          export_scope: Any = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
                          strip_default_attrs: bool = False, save_debug_info: bool = False) -> Any:
        """The graph and its collections as a MetaGraphDef; also written to `filename` if one is given."""
        return export_meta_graph(filename, graph_def=None, saver_def=self.saver_def, collection_list=collection_list,
                                 as_text=as_text, export_scope=export_scope, clear_devices=clear_devices,
                                 strip_default_attrs=strip_default_attrs)


def export_meta_graph(filename: Optional[str] = None, meta_info_def: Any = None, graph_def: Any = None, saver_def: Any = None,
                      collection_list: Any = None, as_text: bool = False, graph: Optional[Graph] = None,
                      export_scope: Any = None, clear_devices: bool = False, clear_extraneous_savers: bool = False,
                      strip_default_attrs: bool = False, save_debug_info: bool = False, **kwargs: Any) -> Any:
    """A MetaGraphDef of the current graph; also in a file, if a name is given."""
    _register_protos()
    message = meta_graph.export_scoped_meta_graph(
        filename=None, graph_def=graph_def, graph=graph, export_scope=export_scope, as_text=as_text,
        clear_devices=clear_devices, saver_def=saver_def, collection_list=collection_list,
        strip_default_attrs=strip_default_attrs, meta_info_def=meta_info_def)
    if filename:
        if as_text:
            from google.protobuf import text_format
            data = text_format.MessageToString(message)
        else:
            data = message.SerializeToString()
        checkpoint_management.write_atomically(os.fspath(filename), data)
    return message


def import_meta_graph(meta_graph_or_file, clear_devices=False, import_scope=None, **kwargs):
    """Adds the nodes and collections; returns a Saver for the variables, or None if there are none."""
    _register_protos()
    graph = kwargs.get("graph") or ops.get_default_graph()
    outer = graph.get_name_scope()
    meta_graph_def = meta_graph.import_scoped_meta_graph(meta_graph_or_file, clear_devices=clear_devices,
                                                         import_scope=import_scope, **kwargs)
    scope = "/".join(part for part in (outer, import_scope) if part) or None
    if meta_graph_def.HasField("saver_def"):
        return Saver(saver_def=meta_graph_def.saver_def, name=scope)
    if variable_collections._all_saveable_objects(scope=scope):
        return Saver()
    return None


_registered = False


def _register_protos():
    """How variables, savers and queue runners go into meta graphs."""
    global _registered
    if _registered:
        return
    _registered = True
    from millstream.ops.variables import variables
    from millstream.proto import queue_runner_pb2, saver_pb2, variable_pb2
    from millstream.training import queue_runner_impl
    to_proto = lambda item, export_scope=None: item.to_proto(export_scope=export_scope)
    keys = ops.GraphKeys
    for key in (keys.GLOBAL_VARIABLES, keys.TRAINABLE_VARIABLES, keys.MOVING_AVERAGE_VARIABLES, keys.LOCAL_VARIABLES,
                keys.MODEL_VARIABLES, keys.GLOBAL_STEP, keys.METRIC_VARIABLES):
        meta_graph.register_proto_function(key, variable_pb2.VariableDef, to_proto, variables.Variable.from_proto)
    meta_graph.register_proto_function(keys.SAVERS, saver_pb2.SaverDef, to_proto, Saver.from_proto)
    meta_graph.register_proto_function(keys.QUEUE_RUNNERS, queue_runner_pb2.QueueRunnerDef, to_proto,
                                       queue_runner_impl.QueueRunner.from_proto)


def get_or_create_saver():
    """The saver of the collection, or a new one that is added to it."""
    savers = ops.get_collection(_SAVERS)
    if savers:
        if len(savers) > 1:
            raise RuntimeError(f"More than one item in collection {_SAVERS}. Please indicate which one to use by passing it to the "
                               "constructor.")
        return savers[0]
    saver = Saver(sharded=True, allow_empty=True)
    ops.add_to_collection(_SAVERS, saver)
    return saver
