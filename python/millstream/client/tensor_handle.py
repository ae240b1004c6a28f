# SPDX-License-Identifier: Apache-2.0
"""Tensors that stay in a session between steps: what tf.get_session_handle() gives, and what a session does with it."""
from millstream import gen_ops
from millstream.framework import errors
from millstream.framework.device import canonical_name

_MAX_DEAD = 10  # handles that nobody holds any more, until their tensors are deleted


class TensorHandle:
    """The handle of one such tensor. The tensor goes when nobody holds its handle any more, or with delete()."""

    def __init__(self, handle, dtype, session):
        self._handle = handle.decode() if isinstance(handle, bytes) else str(handle)
        self._dtype = dtype
        self._session = session
        self._auto_gc_enabled = True

    def __del__(self):
        if self._auto_gc_enabled:
            self._session._register_dead_handle(self._handle)

    def __str__(self):
        return self._handle

    @property
    def handle(self):
        """The handle as a string: what is fed to the placeholder of tf.get_session_tensor()."""
        return self._handle

    def _check_alive(self):
        if not self._auto_gc_enabled:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def eval(self):
        """The value of the tensor."""
        self._check_alive()
        holder, value = reader(self._session.graph, self._handle, self._dtype)
        return self._session.run(value, {holder: self._handle})

    def delete(self):
        self._check_alive()
        self._auto_gc_enabled = False
        delete(self._session, [self._handle])

    def get_raw_handle(self):
        """The handle as a string; deleting the tensor is up to the caller from now on."""
        self._auto_gc_enabled = False
        return self._handle


def device_of(handle):
    """A handle is "name of the node;number;device"."""
    handle = handle.decode() if isinstance(handle, bytes) else str(handle)
    return canonical_name(handle.split(";")[-1])


def _cache(graph, kind):
    caches = graph.__dict__.setdefault("_session_tensors", {"holders": {}, "readers": {}, "movers": {}, "deleters": {}})
    return caches[kind]


def add_holder(graph, handle, dtype=None):
    """A placeholder for handles, on the device of this one; `dtype`: of the tensors, if they are read there."""
    from millstream.framework.constant_op import placeholder
    from millstream.framework.dtypes import string
    holder = placeholder(string)
    if dtype is not None:
        _cache(graph, "holders")[holder.name] = holder, dtype
    return holder


def reader(graph, handle, dtype):
    """(placeholder, value), once for every node and device that handles come from."""
    parts = handle.split(";")
    key = parts[0], parts[-1], dtype
    cache = _cache(graph, "readers")
    if key not in cache:
        with graph.as_default(), graph.control_dependencies(None), graph.device(device_of(handle)):
            holder = add_holder(graph, handle, dtype)
            cache[key] = holder, gen_ops.get_session_tensor(holder, dtype=dtype)
    return cache[key]


def delete(session, handles):
    cache = _cache(session.graph, "deleters")
    feeds, deleters = {}, []
    for i, handle in enumerate(handles):
        device = device_of(handle)
        if (device, i) not in cache:
            with session.graph.as_default(), session.graph.control_dependencies(None), session.graph.device(device):
                holder = add_holder(session.graph, handle)
                cache[device, i] = holder, gen_ops.delete_session_tensor(holder)
        holder, deleter = cache[device, i]
        feeds[holder] = handle
        deleters.append(deleter)
    session.run(deleters, feeds)


def delete_dead(session, dead):
    """Deletes tensors whose handles are gone; what a reset or a restart has deleted before is no error."""
    handles = []
    while dead:
        handles.append(dead.pop())
    try:
        delete(session, handles)
    except errors.OpError:
        pass


def too_many(dead):
    return len(dead) >= _MAX_DEAD


def _mover(graph, holder, handle, dtype):
    key = holder.name, handle.split(";")[0], device_of(handle)
    cache = _cache(graph, "movers")
    if key not in cache:
        source, value = reader(graph, handle, dtype)
        with graph.as_default(), graph.control_dependencies(None), graph.device(holder.op.device):
            cache[key] = source, gen_ops.get_session_handle(value)
    return cache[key]


def moved(session, feed_dict):
    """The same feeds, where handles of tensors on other devices than their reader's are those of copies on that."""
    holders = session.graph.__dict__.get("_session_tensors", {}).get("holders")
    if not holders or not feed_dict:
        return feed_dict
    result = feed_dict
    for key, value in feed_dict.items():
        known = holders.get(key if isinstance(key, str) else getattr(key, "name", None))
        if known is None or not isinstance(value, (str, bytes, TensorHandle)):
            continue
        holder, dtype = known
        text = value.decode() if isinstance(value, bytes) else str(value)
        if device_of(text) == holder.op.device:
            continue
        source, mover = _mover(session.graph, holder, text, dtype)
        if result is feed_dict:
            result = dict(feed_dict)
        result[key] = session.run(mover, {source: text})
    return result
