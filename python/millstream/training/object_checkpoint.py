# SPDX-License-Identifier: Apache-2.0
"""tf.train.Checkpoint: variables saved by the names of the attributes that hold them. Files are TensorFlow's."""
from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import dtypes, errors, ops
from millstream.ops.variables import variables
from millstream.training import checkpoint_management, checkpoint_utils, saveable, saver as saver_lib, trackable

if TYPE_CHECKING:
    from typing import Any


def _session(session):
    session = session or ops.get_default_session()
    if session is None:
        raise RuntimeError("A checkpoint is saved and restored in a session: pass `session`, or use `with tf.Session():`.")
    return session


class _Text(saveable.SaveableObject):
    """A string that is saved with the variables, and not restored."""

    def __init__(self, name, text):
        with ops.device("/cpu:0"):
            tensor = ops.convert_to_tensor(text, dtype=dtypes.string)
        super().__init__(tensor, [saveable.SaveSpec(tensor, "", name, dtype=dtypes.string)], name)

    def restore(self, restored_tensors, restored_shapes):
        from millstream import gen_ops
        return gen_ops.no_op()


class Checkpoint(trackable.AutoTrackable):
    """Saves the variables below its keyword arguments: variables, optimizers, layers, models, lists and dicts of them, and
    objects of tf.contrib.checkpoint.Checkpointable. write() and read() take a path as it is; save() numbers checkpoints."""

    def __init__(self, **kwargs: Any) -> None:
        for name, value in kwargs.items():
            if not trackable.is_trackable(value) and not isinstance(value, (list, tuple, dict)):
                raise ValueError(f"`Checkpoint` was expecting {name} to be a trackable object (an object derived from `Trackable`), "
                                 f"got {value}.")
            setattr(self, name, value)
        self._counter_op, self._saver, self._saved = None, None, None

    def _make_counter(self):
        if "save_counter" not in self.__dict__:
            with ops.init_scope(), ops.device("/cpu:0"):
                self.save_counter = variables.Variable(0, name="save_counter", dtype=dtypes.int64, trainable=False, use_resource=True)

    def write(self, file_prefix, session=None):
        """Saves to `file_prefix`; returns it."""
        session, view = _session(session), trackable.View(self)
        text = view.proto().SerializeToString(deterministic=True)
        if self._saved != (session.graph, text):  # nodes are made again only if there is something new to save
            with session.graph.as_default(), ops.init_scope():
                names = view.saved()
                names[trackable.OBJECT_GRAPH_KEY] = _Text(trackable.OBJECT_GRAPH_KEY, text)
                self._saver, self._saved = saver_lib.Saver(names, max_to_keep=0), (session.graph, text)
        folder = os.path.dirname(os.fspath(file_prefix))
        if folder:
            _core.make_folders(os.fspath(folder))
        return self._saver.save(session, file_prefix, write_meta_graph=False, write_state=False)

    def save(self, file_prefix: Any, session: Any = None) -> Any:
        """Saves to `file_prefix`-N, with the next N; tf.train.latest_checkpoint() finds it. Returns the path."""
        session = _session(session)
        with session.graph.as_default():
            if "save_counter" not in self.__dict__:
                self._make_counter()
                session.run(self.save_counter.initializer)
            if self._counter_op is None:
                self._counter_op = self.save_counter.assign_add(1, read_value=True)
        path = self.write(f"{os.fspath(file_prefix)}-{session.run(self._counter_op)}", session)
        checkpoint_management.update_checkpoint_state_internal(os.path.dirname(os.fspath(file_prefix)) or ".", path, [path],
                                                      save_relative_paths=True)
        return path

    def read(self, save_path: str) -> Any:
        """The status of a restore; its run_restore_ops() or initialize_or_restore() assigns the values."""
        return _Status(self, os.fspath(save_path))

    def restore(self, save_path: str) -> Any:
        """As read(), of what save() has written; None restores nothing."""
        self._make_counter()
        if save_path is None:
            return _InitializationOnly(self)
        return self.read(save_path)


class _InitializationOnly:
    """Of restore(None): initialize_or_restore() initializes."""

    def __init__(self, root):
        self._root = root

    def _variables(self):
        return list(trackable.View(self._root).saved().values())

    def assert_consumed(self):
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def expect_partial(self):
        return self

    def run_restore_ops(self, session=None):
        raise AssertionError("No checkpoint specified, so no restore ops are available (save_path=None to Saver.restore).")

    def initialize_or_restore(self, session=None):
        session = _session(session)
        session.run([v.initializer for v in self._variables()])


class _Status(_InitializationOnly):
    """What a checkpoint has of the objects of now. Objects that are attached later, and slots that an optimizer makes later, count
    when run_restore_ops() is called."""

    def __init__(self, root, path):
        super().__init__(root)
        self._path = path
        try:
            reader = checkpoint_utils.NewCheckpointReader(path)
        except errors.OpError:
            raise errors.NotFoundError(None, None, f"Could not find checkpoint {path}") from None
        self._stored = reader.get_variable_to_shape_map()
        self._graph = None
        if trackable.OBJECT_GRAPH_KEY in self._stored:
            from millstream.proto import trackable_object_graph_pb2
            self._graph = trackable_object_graph_pb2.TrackableObjectGraph.FromString(reader.get_tensor(trackable.OBJECT_GRAPH_KEY))
        self._restorers = {}

    def _match(self):
        """({name in the checkpoint: variable}, objects of ours that it does not have, its objects that we do not have)."""
        view = trackable.View(self._root)
        if self._graph is None:  # a checkpoint by names of variables
            ours = {v.op.name: v for v in view.saved().values()}
            named = {name: v for name, v in ours.items() if name in self._stored}
            return named, [v for name, v in ours.items() if name not in named and v is not self._root.__dict__.get("save_counter")], []
        found, missing = trackable.match(view, self._graph)
        values = {}
        for number, value in found.items():
            for attribute in self._graph.nodes[number].attributes:
                if attribute.name == trackable.VALUE and isinstance(value, variables.Variable):
                    values[attribute.checkpoint_key] = value
        return values, missing, [n for n in range(len(self._graph.nodes)) if n not in found]

    def assert_consumed(self):
        """AssertionError unless each object here has its counterpart in the checkpoint, and the other way round."""
        _, missing, unused = self._match()
        if unused:
            names = [a.checkpoint_key for n in unused for a in self._graph.nodes[n].attributes] or unused
            raise AssertionError(f"Unresolved objects in checkpoint {self._path}: {names}")
        if missing:
            raise AssertionError(f"Objects that are not in checkpoint {self._path}: {missing}")
        return self

    def assert_existing_objects_matched(self):
        """AssertionError unless each variable here is in the checkpoint."""
        missing = [v for v in self._match()[1] if isinstance(v, variables.Variable)]
        if missing:
            raise AssertionError(f"Found {len(missing)} Python objects that were not bound to checkpointed values, likely due to "
                                 f"changes in the Python program: {[v.name for v in missing]}")
        return self

    def assert_nontrivial_match(self):
        if not self._match()[0]:
            raise AssertionError("Nothing except the root object matched a checkpointed value.")
        return self

    def run_restore_ops(self, session=None):
        """Assigns the values of the checkpoint to the variables that are in it."""
        session, values = _session(session), self._match()[0]
        key = (session.graph, tuple(sorted(values)))
        if not values:
            return
        if key not in self._restorers:
            with session.graph.as_default(), ops.init_scope():
                self._restorers[key] = saver_lib.Saver(values, max_to_keep=0)
        self._restorers[key].restore(session, self._path)

    def initialize_or_restore(self, session=None):
        """Restores what the checkpoint has, and initializes the other variables."""
        session = _session(session)
        restored = {id(v) for v in self._match()[0].values()}
        session.run([v.initializer for v in self._variables() if id(v) not in restored])
        self.run_restore_ops(session)


class CheckpointManager:
    """Keeps the last `max_to_keep` checkpoints of a folder, and one of every `keep_checkpoint_every_n_hours` beyond them."""

    def __init__(self, checkpoint: Any, directory: Any, max_to_keep: Any, keep_checkpoint_every_n_hours: Any = None,
                 checkpoint_name: str = "ckpt", step_counter: Any = None, checkpoint_interval: Any = None, init_fn: Any = None,
                 last_checkpoint_step: Any = None) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(f"Expected a positive integer or `None` for `max_to_keep`, got {max_to_keep}.")
        if checkpoint_interval is not None and step_counter is None:
            raise ValueError("`step_counter` should be passed if `checkpoint_interval` is not `None`.")
        self._checkpoint, self._directory = checkpoint, os.fspath(directory)
        self._max_to_keep, self._keep_hours, self._name = max_to_keep, keep_checkpoint_every_n_hours, checkpoint_name
        self._step_counter, self._interval, self._init_fn = step_counter, checkpoint_interval, init_fn
        self._last_step = last_checkpoint_step
        state = checkpoint_management.get_checkpoint_state(self._directory)
        paths = list(state.all_model_checkpoint_paths) if state is not None else []
        times = list(state.all_model_checkpoint_timestamps) if state is not None else []
        times = times if len(times) == len(paths) else [time.time()] * len(paths)
        self._kept = {p: t for p, t in zip(paths, times) if checkpoint_management.checkpoint_exists(p)}
        self._last_preserved = state.last_preserved_timestamp if state is not None and state.last_preserved_timestamp else time.time()
        self._latest = state.model_checkpoint_path if state is not None else None

    latest_checkpoint = property(lambda self: self._latest)
    checkpoints = property(lambda self: list(self._kept))
    directory = property(lambda self: self._directory)
    checkpoint = property(lambda self: self._checkpoint)
    checkpoint_interval = property(lambda self: self._interval)

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, session: Any = None) -> Any:
        """Saves, and removes what is too old. Returns the path; None if the last one is not `checkpoint_interval` steps old."""
        session = _session(session)
        if self._interval is not None:
            step = int(session.run(self._step_counter))
            if check_interval and self._last_step is not None and step - self._last_step < self._interval:
                return None
            self._last_step = step
        prefix = os.path.join(self._directory, self._name)
        if checkpoint_number is None:
            path = self._checkpoint.save(prefix, session)
        else:
            number = session.run(checkpoint_number) if not isinstance(checkpoint_number, int) else checkpoint_number
            path = self._checkpoint.write(f"{prefix}-{int(number)}", session)
        self._kept.pop(path, None)
        self._kept[path], self._latest = time.time(), path
        self._sweep()
        checkpoint_management.update_checkpoint_state_internal(
            self._directory, path, list(self._kept), save_relative_paths=True, all_model_checkpoint_timestamps=list(self._kept.values()),
            last_preserved_timestamp=self._last_preserved)
        return path

    def _sweep(self):
        while self._max_to_keep is not None and len(self._kept) > self._max_to_keep:
            path, when = next(iter(self._kept.items()))
            del self._kept[path]
            if self._keep_hours is not None and when - self._last_preserved >= self._keep_hours * 3600:
                self._last_preserved = when
            else:
                checkpoint_management.remove_checkpoint(path)

    def restore_or_initialize(self) -> Any:
        """Restores the latest checkpoint, or calls init_fn. Returns the checkpoint's path, if there is one."""
        if self._latest is not None:
            self._checkpoint.restore(self._latest).run_restore_ops()
        elif self._init_fn is not None:
            self._init_fn()
        return self._latest
