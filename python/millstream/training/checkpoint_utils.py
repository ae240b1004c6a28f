# SPDX-License-Identifier: Apache-2.0
"""Reading checkpoints without a graph, and initializing variables from them."""
from __future__ import annotations

import os
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import dtypes, errors
from millstream.platform.local_files import local_path

if TYPE_CHECKING:
    from typing import Any


class CheckpointReader:
    """The tensors of one checkpoint."""

    def __init__(self, prefix):
        if isinstance(prefix, bytes):
            prefix = prefix.decode()
        self._prefix = os.fspath(prefix)
        try:
            self._reader = _core.BundleReader(self._prefix)
            self._reader.check()
        except errors.NotFoundError:
            raise errors.NotFoundError(None, None, "Unsuccessful TensorSliceReader constructor: Failed to find any matching "
                                       f"files for {self._prefix}") from None

    def has_tensor(self, tensor_str):
        return self._reader.has(tensor_str)

    def get_tensor(self, tensor_str):
        if not self._reader.has(tensor_str):
            raise errors.NotFoundError(None, None, f"Key {tensor_str} not found in checkpoint")
        return self._reader.read(tensor_str)

    def get_variable_to_shape_map(self):
        return {name: list(self._reader.lookup(name)[1]) for name in self._reader.names()}

    def get_variable_to_dtype_map(self):
        return {name: dtypes.as_dtype(self._reader.lookup(name)[0]) for name in self._reader.names()}

    def debug_string(self):
        lines = []
        for name in sorted(self._reader.names()):
            dtype, shape = self._reader.lookup(name)
            lines.append(f"{name} (DT_{dtypes.as_dtype(dtype).name.upper()}) {shape}\n")
        return "".join(lines).encode()


def NewCheckpointReader(filepattern: Any) -> CheckpointReader:
    """Reads tensors, and their shapes and types, from a checkpoint."""
    return CheckpointReader(filepattern)


def _checkpoint_filename(ckpt_dir_or_file):
    from millstream.training import checkpoint_management
    path = os.fspath(ckpt_dir_or_file)
    if os.path.isdir(local_path(path)):
        found = checkpoint_management.latest_checkpoint(path)
        if found is None:
            raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
        return found
    return path


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """A reader of the checkpoint at a path, or of the latest one in a folder."""
    return NewCheckpointReader(_checkpoint_filename(ckpt_dir_or_file))


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """The value of a variable in a checkpoint, as an array."""
    if name.endswith(":0"):
        name = name[:-2]
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name)


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Returns the (name, shape) of each variable of a checkpoint, sorted by name."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


def checkpoints_iterator(checkpoint_dir, min_interval_secs=0, timeout=None, timeout_fn=None):
    """Gives each new checkpoint of a folder as it appears."""
    import time
    from millstream.training import checkpoint_management
    last = None
    while True:
        deadline = None if timeout is None else time.monotonic() + timeout
        path = checkpoint_management.latest_checkpoint(checkpoint_dir)
        while path is None or path == last:
            if deadline is not None and time.monotonic() > deadline:
                if timeout_fn is None or timeout_fn():
                    return
                deadline = time.monotonic() + timeout
            time.sleep(min(1.0, 0.2 if timeout is None else max(0.01, timeout / 10)))
            path = checkpoint_management.latest_checkpoint(checkpoint_dir)
        last, start = path, time.time()
        yield path
        time.sleep(max(0.0, start + min_interval_secs - time.time()))


def init_from_checkpoint(ckpt_dir_or_file: Any, assignment_map: Any) -> None:
    """Makes the initializers of variables read the checkpoint: {"name/": "scope/"}, {"name": variable or its name}."""
    from millstream import gen_ops
    from millstream.ops.variables import variable_collections, variable_scope
    path = _checkpoint_filename(ckpt_dir_or_file)
    reader = load_checkpoint(path)
    stored = reader.get_variable_to_shape_map()
    by_name = {v.op.name: v for v in variable_collections.global_variables()}
    whole = getattr(variable_scope._get_default_variable_store(), "_partitioned_vars", {})

    def connect(name, variable):
        parts = variable._get_variable_list() if hasattr(variable, "_get_variable_list") else \
            variable if isinstance(variable, (list, tuple)) else [variable]
        if name not in stored:
            raise ValueError(f"Tensor {name} is not found in {ckpt_dir_or_file} checkpoint {stored}")
        for part in parts:
            info = part._get_save_slice_info()
            if info is None and not part.shape.is_compatible_with(stored[name]):
                raise ValueError(f"Shape of variable {part.name} ({part.shape}) doesn't match with shape of tensor {name} "
                                 f"({stored[name]}) from checkpoint reader.")
            from millstream.framework import ops
            with ops.init_scope(), ops.device(part.device), ops.device("/cpu:0"):
                value = gen_ops.restore_v2(path, [name], ["" if info is None else info.spec], dtypes=[part.dtype.base_dtype],
                                           name="checkpoint_initializer")[0]
                value.set_shape(part.shape)
            part._initializer_op = part.assign(value, read_value=False)
            part._initializer_op = getattr(part._initializer_op, "op", part._initializer_op)
            part._initial_value = value

    for key, target in dict(assignment_map).items():
        if isinstance(target, str) and (target.endswith("/") or key == "/" or key.endswith("/")):
            prefix = "" if key == "/" else key
            scope = "" if target == "/" else target
            for name, variable in {**by_name, **whole}.items():
                if name.startswith(scope) and "/part_" not in name and (prefix + name[len(scope):]) in stored:
                    connect(prefix + name[len(scope):], variable)
        elif isinstance(target, str):
            variable = whole.get(target) or by_name.get(target)
            if variable is None:
                raise ValueError(f"Variable {target} is not in the graph")
            connect(key, variable)
        else:
            connect(key, target)
