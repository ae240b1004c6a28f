# SPDX-License-Identifier: Apache-2.0
"""The file `checkpoint` of a folder, which says what the latest checkpoint is."""
from __future__ import annotations

import glob
import os
import re
from typing import TYPE_CHECKING

from millstream import _core
from millstream.framework import errors
from millstream.platform.local_files import local_path

if TYPE_CHECKING:
    from typing import Any, Optional

_STATE_FILE = "checkpoint"
_warned_folders: set[str] = set()


def _state_path(save_dir, latest_filename=None):
    return os.path.join(save_dir, latest_filename or _STATE_FILE)


def generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None,
                                    all_model_checkpoint_timestamps=None, last_preserved_timestamp=None):
    """A CheckpointState with paths relative to `save_dir` where possible."""
    from millstream.proto import checkpoint_state_pb2
    paths = list(all_model_checkpoint_paths or [])
    if not paths or paths[-1] != model_checkpoint_path:
        paths.append(model_checkpoint_path)
    if all_model_checkpoint_timestamps and len(all_model_checkpoint_timestamps) != len(paths):
        raise ValueError("Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
                         f"{paths} and timestamps {all_model_checkpoint_timestamps})")
    if not os.path.isabs(save_dir):  # paths within a relative folder are kept relative to it
        paths = [p if os.path.isabs(p) else os.path.relpath(p, save_dir) for p in paths]
        if not os.path.isabs(model_checkpoint_path):
            model_checkpoint_path = os.path.relpath(model_checkpoint_path, save_dir)
    proto = checkpoint_state_pb2.CheckpointState(model_checkpoint_path=model_checkpoint_path, all_model_checkpoint_paths=paths)
    proto.all_model_checkpoint_timestamps.extend(all_model_checkpoint_timestamps or [])
    if last_preserved_timestamp is not None:
        proto.last_preserved_timestamp = last_preserved_timestamp
    return proto


def write_atomically(path, text):
    """Written aside, synced, renamed: a reader sees the old file or the new one. Errors name the file."""
    _core.write_file_atomically(os.fspath(path), text if isinstance(text, bytes) else text.encode())


def update_checkpoint_state(save_dir: Any, model_checkpoint_path: Any, all_model_checkpoint_paths: Any = None,
                            latest_filename: Any = None, all_model_checkpoint_timestamps: Any = None,
                            last_preserved_timestamp: Any = None) -> None:
    """Writes the file `checkpoint` of a folder, which names its checkpoints."""
    update_checkpoint_state_internal(save_dir, model_checkpoint_path, all_model_checkpoint_paths, latest_filename, False,
                                     all_model_checkpoint_timestamps, last_preserved_timestamp)


def update_checkpoint_state_internal(save_dir, model_checkpoint_path, all_model_checkpoint_paths=None, latest_filename=None,
                                     save_relative_paths=False, all_model_checkpoint_timestamps=None,
                                     last_preserved_timestamp=None):
    from google.protobuf import text_format
    path = _state_path(save_dir, latest_filename)
    if save_relative_paths:
        relative = lambda p: os.path.relpath(p, save_dir) if os.path.isabs(p) == os.path.isabs(save_dir) else p
        model = relative(model_checkpoint_path)
        proto = generate_checkpoint_state_proto(save_dir, model, [relative(p) for p in all_model_checkpoint_paths or []],
                                                all_model_checkpoint_timestamps, last_preserved_timestamp) \
            if os.path.isabs(save_dir) else _plain(model, [relative(p) for p in all_model_checkpoint_paths or []],
                                                   all_model_checkpoint_timestamps, last_preserved_timestamp)
    else:
        proto = generate_checkpoint_state_proto(save_dir, model_checkpoint_path, all_model_checkpoint_paths,
                                                all_model_checkpoint_timestamps, last_preserved_timestamp)
    if path == proto.model_checkpoint_path:
        raise RuntimeError(f"Save path '{model_checkpoint_path}' conflicts with path used for checkpoint state.  Please use a "
                           "different save path.")
    write_atomically(path, text_format.MessageToString(proto))


def _plain(model, paths, timestamps, last):
    from millstream.proto import checkpoint_state_pb2
    if not paths or paths[-1] != model:
        paths.append(model)
    proto = checkpoint_state_pb2.CheckpointState(model_checkpoint_path=model, all_model_checkpoint_paths=paths)
    proto.all_model_checkpoint_timestamps.extend(timestamps or [])
    if last is not None:
        proto.last_preserved_timestamp = last
    return proto


def get_checkpoint_state(checkpoint_dir, latest_filename=None):
    """The CheckpointState of a folder, with paths that begin with the folder; None if there is none."""
    if isinstance(checkpoint_dir, bytes):
        checkpoint_dir = checkpoint_dir.decode()
    path = _state_path(os.fspath(checkpoint_dir), latest_filename)
    try:
        with open(local_path(path), encoding="utf-8") as f:
            text = f.read()
    except OSError:
        return None
    from google.protobuf import text_format
    from millstream.proto import checkpoint_state_pb2
    state = checkpoint_state_pb2.CheckpointState()
    try:
        text_format.Merge(text, state)
    except text_format.ParseError as error:
        from millstream.framework import log
        log.warning("%s: %s", path, error)
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {path}")
    absolute = lambda p: p if os.path.isabs(p) else os.path.join(checkpoint_dir, p)
    state.model_checkpoint_path = absolute(state.model_checkpoint_path)
    paths = [absolute(p) for p in state.all_model_checkpoint_paths]
    del state.all_model_checkpoint_paths[:]
    state.all_model_checkpoint_paths.extend(paths)
    return state


def checkpoint_exists(checkpoint_prefix: Any) -> bool:
    """Whether there is a checkpoint with this prefix."""
    prefix = local_path(checkpoint_prefix)
    return os.path.exists(prefix + ".index") or os.path.isfile(prefix) or any(map(os.path.isfile, glob.glob(prefix)))


def latest_checkpoint(checkpoint_dir: str, latest_filename: Any = None) -> Optional[str]:
    """The path that Saver.restore() takes; None if there is no checkpoint."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not state.model_checkpoint_path:
        _warn_of_unlisted(os.fspath(checkpoint_dir), latest_filename)
        return None
    if checkpoint_exists(state.model_checkpoint_path):
        return state.model_checkpoint_path
    from millstream.framework import log
    log.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def _warn_of_unlisted(folder, latest_filename):
    """Once for each folder: a program that takes None for an empty folder would start from 0 beside good checkpoints."""
    found = [] if folder in _warned_folders else _core.find_checkpoints(folder)
    if found:
        from millstream.framework import log
        _warned_folders.add(folder)
        log.warning("%s is missing or damaged, but the folder has checkpoints, the last of which is %s.",
                    _state_path(folder, latest_filename), found[-1])


def get_checkpoint_mtimes(checkpoint_prefixes: Any) -> list[float]:
    """When each of the checkpoints was written, in seconds since the epoch."""
    times = []
    for prefix in map(local_path, checkpoint_prefixes):
        for path in (prefix + ".index", prefix):
            if os.path.exists(path):
                times.append(os.path.getmtime(path))
                break
    return times


def meta_graph_filename(checkpoint_filename, meta_graph_suffix="meta"):
    """The name beside a checkpoint; a sharded one loses its number of shards."""
    base = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{base}.{meta_graph_suffix}"


def remove_checkpoint(checkpoint_prefix: Any, checkpoint_format_version: Any = 2, meta_graph_suffix: str = "meta") -> None:
    """Deletes the files of a checkpoint: first the index, so that what is left is not taken for a whole one. What a process that is
    killed meanwhile has not deleted, the next save deletes."""
    _remove_if_exists(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    try:
        retired = _core.retire_index(checkpoint_prefix)
    except errors.OpError as error:
        raise OSError(error.message) from None
    for path in glob.glob(glob.escape(local_path(checkpoint_prefix)) + ".data-?????-of-?????"):
        _remove_if_exists(path)
    if retired:
        _remove_if_exists(retired)


def _remove_if_exists(path):
    try:
        _core.delete_large_file(path)
    except errors.NotFoundError:
        pass
    except errors.OpError as error:
        raise OSError(error.message) from None
