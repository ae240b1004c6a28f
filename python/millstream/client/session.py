# SPDX-License-Identifier: Apache-2.0
"""Session: runs parts of a graph."""
from __future__ import annotations

import collections
import functools
import threading
import weakref
from typing import TYPE_CHECKING

from millstream import _core
from millstream.client import default_config, default_target, fetching, rewrite_defaults, sharing, step_identity, tensor_handle
from millstream.framework import errors, scopes, stacks
from millstream.framework.graph import Graph

if TYPE_CHECKING:
    from typing import Any

_MAX_SIGNATURES = 512  # that one session keeps compiled


def _serialized_config(config):
    if config is None:
        return b""
    from millstream.proto import config_pb2
    if hasattr(config, "SerializeToString") and type(config).__name__ == "ConfigProto":
        return config.SerializeToString()
    if isinstance(config, config_pb2.ConfigProto):
        return config.SerializeToString()
    raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{type(config).__name__}"')


class _Signature:
    """Feeds and fetches, looked up once."""

    __slots__ = ("handle", "feeds", "types", "fetches", "keep")

    def __init__(self, feeds, fetches, keep):
        self.feeds = feeds
        self.types = [-f.enum if sharing.may_read_in_place(f.tensor) else f.enum for f in feeds]
        self.fetches = fetches
        self.keep = keep  # what the key in the cache is made of
        self.handle = None


_at_clusters: weakref.WeakSet = weakref.WeakSet()  # sessions at servers, closed before the servers of this process are stopped


_targets_used: set[str] = set()


def targets_used():
    """Of sessions that ran steps at a cluster."""
    return _targets_used


def close_sessions_at_clusters():
    for session in list(_at_clusters):
        try:
            session.close()
        except Exception:  # noqa: BLE001  the process ends
            pass


class BaseSession:
    def __init__(self, target="", graph=None, config=None):
        if graph is None:
            graph = scopes.get_default_graph()
        elif not isinstance(graph, Graph):
            raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{type(graph).__name__}"')
        if isinstance(target, bytes):
            target = target.decode()
        if target is None:
            target = ""
        if not isinstance(target, str):
            raise TypeError(f'Argument `target` must be a string, but got "{type(target).__name__}"')
        if config is None:
            config = default_config.current()
        _serialized_config(config)  # of the right type
        config = rewrite_defaults.applied(config)
        if not target and default_target.is_set():
            target, config = default_target.target_and_config(config)
        self._graph = graph
        self._target = target
        self._config = config
        self._closed = False
        self._extend_lock = threading.Lock()
        self._extended = 0
        self._signatures = collections.OrderedDict()
        self._partial = {}
        self._dead_handles = []
        self._session = _core.Session(target, _serialized_config(config))
        if target:
            _at_clusters.add(self)
            _targets_used.add(target)

    @property
    def graph(self) -> Graph:
        """The graph whose parts this session runs."""
        return self._graph

    @property
    def graph_def(self) -> Any:
        return self._graph.as_graph_def()

    @property
    def sess_str(self) -> Any:
        return self._target

    def _let_others_go_on(self):
        """Synchronous training: a worker that leaves lets go those that wait for a turn which it would have made possible."""
        release = getattr(self._graph, "_release_ops", ())
        if not release or not self._target or self._closed or not self._signatures:
            return
        from millstream.proto import config_pb2
        try:
            self.run(list(release), options=config_pb2.RunOptions(timeout_in_ms=2000))
        except Exception:  # noqa: BLE001  the cluster may be gone
            pass

    def _register_dead_handle(self, handle):
        """Called by the garbage collector: the tensor is deleted by a later step."""
        self._dead_handles.append(handle)

    def close(self) -> None:
        """Ends the session; later calls of run() raise RuntimeError."""
        if not self._closed:
            self._let_others_go_on()
            if self._dead_handles and self._target:
                tensor_handle.delete_dead(self, self._dead_handles)
            self._closed = True
            self._signatures.clear()
            self._session.close()

    def list_devices(self) -> list[Any]:
        """The devices that steps of this session may use."""
        return [_DeviceAttributes(*d) for d in self._session.list_devices()]

    def as_default(self) -> Any:
        """A context in which eval() and run() of tensors and operations use this session; it does not close it."""
        return stacks.default_session.get_controller(self)

    def _check_open(self):
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if self._graph._core.num_nodes() == 0:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")

    def _extend_graph(self):
        """Sends what the graph has got since the last time."""
        limit = self._graph._core.id_limit()
        if limit == self._extended:
            return
        with self._extend_lock, self._graph._lock:
            limit = self._graph._core.id_limit()
            if limit != self._extended:
                self._session.extend(self._graph._core, not self._target)
                self._extended = limit

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Runs what `fetches` needs, with the values of `feed_dict` in place of those tensors."""
        self._check_open()
        if self._dead_handles and tensor_handle.too_many(self._dead_handles):
            tensor_handle.delete_dead(self, self._dead_handles)
        if feed_dict and "_session_tensors" in self._graph.__dict__:
            feed_dict = tensor_handle.moved(self, feed_dict)
        key = fetching.key_of(fetches), tuple(map(fetching.feed_key, feed_dict)) if feed_dict else ()
        signature = self._signatures.get(key)
        if signature is not None:
            values = fetching.feed_values(self._graph, signature.feeds, feed_dict)
        else:
            flat = self._flat(feed_dict)
            if flat is not feed_dict:
                return self.run(fetches, flat, options, run_metadata)
            signature = self._look_up(fetches, feed_dict)
            values = fetching.feed_values(self._graph, signature.feeds, feed_dict)
            if not signature.fetches.names and not signature.fetches.targets:
                return signature.fetches.build([], values)
            self._keep(key, self._compile(signature))
        return self._run_signature(signature, values, options, run_metadata)

    def _run_signature(self, signature, values, options, run_metadata):
        serialized = None
        if options is not None or run_metadata is not None:
            serialized = b"" if options is None else options.SerializeToString()
        try:
            outputs, metadata = self._session.run_callable(signature.handle, values, signature.types, serialized,
                                                           *step_identity.current())
        except errors.OpError as error:
            raise self._explained(error) from None
        if run_metadata is not None and metadata is not None:
            run_metadata.ParseFromString(metadata)
        if run_metadata is not None and not self._target and options is not None and options.output_partition_graphs:
            from millstream.client import partition_graph
            partition_graph.add_to(run_metadata, self._graph, [f.name for f in signature.feeds], signature.fetches.names,
                                   signature.fetches.targets)
        return signature.fetches.build(outputs, values)

    def _explained(self, error):
        return errors.with_op(error, self._graph)

    @staticmethod
    def _flat(feed_dict):
        """The same feeds with tensors as keys where there were tuples of them (the state of a recurrent cell)."""
        if feed_dict is not None and not isinstance(feed_dict, collections.abc.Mapping):
            raise TypeError(f"The `feed_dict` must be a dictionary, not a {type(feed_dict).__name__}")
        if not any(isinstance(key, tuple) for key in feed_dict or ()):
            return feed_dict
        from millstream.ops import nest
        return nest.flatten_dict_items(feed_dict)

    def _look_up(self, fetches, feed_dict):
        keys = list(feed_dict or ())
        feeds = fetching.feeds_of(self._graph, keys)
        return _Signature(feeds, fetching.Fetches(self, fetches, feeds), (fetches, keys))

    def _compile(self, signature):
        self._extend_graph()
        fetches = signature.fetches
        try:
            signature.handle = self._session.make_callable([f.name for f in signature.feeds], fetches.names, fetches.targets)
        except errors.OpError as error:
            raise self._explained(error) from None
        return signature

    def _keep(self, key, signature):
        self._signatures[key] = signature
        while len(self._signatures) > _MAX_SIGNATURES:
            _, old = self._signatures.popitem(last=False)
            self._session.release_callable(old.handle)

    def make_callable(self, fetches: Any, feed_list: Any = None, accept_options: bool = False) -> Any:
        """A function of the values of `feed_list`, in order, that does what run(fetches) does; cheaper."""
        self._check_open()
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("Argument `feed_list` must be a list or tuple.")
        signature = self._compile(self._look_up(fetches, dict.fromkeys(feed_list or ())))

        def run(*args, **kwargs):
            options, run_metadata = kwargs.get("options"), kwargs.get("run_metadata")
            if len(args) != len(signature.feeds):
                raise errors.InvalidArgumentError(None, None, f"Expected {len(signature.feeds)} feeds, got {len(args)}")
            values = [fetching.feed_value(self._graph, f, v) for f, v in zip(signature.feeds, args)]
            return self._run_signature(signature, values, options, run_metadata)

        return run if accept_options else functools.partial(run)

    def _make_callable_from_options(self, callable_options):
        """A function for a CallableOptions message; returns a list of arrays."""
        self._check_open()
        self._extend_graph()
        fetches = list(callable_options.fetch)
        handle = self._session.make_callable(list(callable_options.feed), fetches, list(callable_options.target))

        def run(*args):
            types = [0] * len(args)
            return self._session.run_callable(handle, list(args), types, None)[0]

        return run

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begins a step that is run in parts; returns its handle."""
        self._check_open()
        feeds = fetching.feeds_of(self._graph, list(feeds or ()))
        mapper = fetching.Fetches(self, fetches, [])
        self._extend_graph()
        try:
            handle = self._session.partial_run_setup([f.name for f in feeds], mapper.names, mapper.targets)
        except errors.OpError as error:
            raise self._explained(error) from None
        self._partial[handle] = {f.name for f in feeds}
        return handle

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        self._check_open()
        feed_dict = self._flat(feed_dict)
        feeds = fetching.feeds_of(self._graph, list(feed_dict or ()))
        mapper = fetching.Fetches(self, fetches, feeds)
        values = fetching.feed_values(self._graph, feeds, feed_dict)
        names = mapper.names + mapper.targets
        try:
            outputs = self._session.partial_run(handle, [f.name for f in feeds], values, [f.enum for f in feeds], names)
        except errors.OpError as error:
            raise self._explained(error) from None
        return mapper.build(outputs[:len(mapper.names)], values)


class Session(BaseSession):
    """A session; as a context manager also the default session, closed at the end."""

    def __init__(self, target="", graph=None, config=None):
        super().__init__(target, graph, config)
        self._contexts = []

    def __enter__(self) -> Session:
        graph = self.graph.as_default()
        session = self.as_default()
        graph.__enter__()
        session.__enter__()
        self._contexts.append((graph, session))
        return self

    def __exit__(self, exec_type, exec_value, exec_tb):
        graph, session = self._contexts.pop()
        session.__exit__(exec_type, exec_value, exec_tb)
        graph.__exit__(exec_type, exec_value, exec_tb)
        self.close()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Clears the containers of a cluster, or all of its state."""
        if isinstance(target, bytes):
            target = target.decode()
        if not target:
            raise errors.InvalidArgumentError(None, None, "A target is needed: a local session ends with its state")
        _core.reset_target(target, [c.decode() if isinstance(c, bytes) else c for c in containers or ()])


class InteractiveSession(BaseSession):
    """A session that is the default from the start until it is closed."""

    def __init__(self, target="", graph=None, config=None):
        from millstream.proto import config_pb2
        merged = config_pb2.ConfigProto.FromString(_serialized_config(config))
        merged.graph_options.place_pruned_graph = True  # a node that was a mistake must not end the work
        super().__init__(target, graph, merged)
        self._explicit_graph = graph
        self._default_graph = None
        if graph is not None:
            self._default_graph = graph.as_default()
            stacks.default_graph.enforce_nesting = False
            self._default_graph.__enter__()
        self._default_session = self.as_default()
        stacks.default_session.enforce_nesting = False
        self._default_session.__enter__()

    def close(self) -> None:
        super().close()
        session, self._default_session = self._default_session, None
        if session is not None:
            session.__exit__(None, None, None)
        graph, self._default_graph = self._default_graph, None
        if graph is not None:
            graph.__exit__(None, None, None)


class _DeviceAttributes:
    def __init__(self, name, device_type, memory_limit_bytes, incarnation):
        self._name = name
        self._device_type = device_type
        self._memory_limit_bytes = memory_limit_bytes
        self._incarnation = incarnation

    @property
    def name(self):
        return self._name

    @property
    def device_type(self):
        return self._device_type

    @property
    def memory_limit_bytes(self):
        return self._memory_limit_bytes

    @property
    def incarnation(self):
        return self._incarnation

    def __repr__(self):
        return (f"_DeviceAttributes({self._name}, {self._device_type}, {self._memory_limit_bytes}, {self._incarnation})")
