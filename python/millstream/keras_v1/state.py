# SPDX-License-Identifier: Apache-2.0
"""What Keras keeps between calls: the session, the learning phase, the variables that it has still to initialize."""
import contextlib
import threading

from millstream.framework import constant_op, ops

VERSION = "2.2.4-tf"  # of the interface that programs see
_local = threading.local()
_session = None
_floatx, _epsilon, _image_data_format = "float32", 1e-7, "channels_last"


def floatx():
    return _floatx


def set_floatx(value):
    global _floatx
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown floatx type: {value}")
    _floatx = str(value)


def epsilon():
    return _epsilon


def set_epsilon(value):
    global _epsilon
    _epsilon = value


def image_data_format():
    return _image_data_format


def set_image_data_format(data_format):
    global _image_data_format
    if data_format not in ("channels_last", "channels_first"):
        raise ValueError(f"Unknown data_format: {data_format}")
    _image_data_format = data_format


def get_graph():
    return ops.get_default_graph()


def learning_phase():
    """Whether layers train: what set_learning_phase() said, or a placeholder that is False unless fed."""
    graph = ops.get_default_graph()
    phase = graph.__dict__.get("_keras_learning_phase")
    if phase is None:
        with graph.as_default(), ops.init_scope(), ops.name_scope(""):
            phase = constant_op.placeholder_with_default(False, shape=(), name="keras_learning_phase")
        graph.__dict__["_keras_learning_phase"] = phase
    return phase


def set_learning_phase(value):
    if value not in (0, 1, False, True):
        raise ValueError("Expected learning phase to be 0 or 1.")
    ops.get_default_graph().__dict__["_keras_learning_phase"] = int(value)


@contextlib.contextmanager
def learning_phase_scope(value):
    space = ops.get_default_graph().__dict__
    before = space.get("_keras_learning_phase")
    set_learning_phase(value)
    try:
        yield
    finally:
        space["_keras_learning_phase"] = before


@contextlib.contextmanager
def training_scope(value):
    """Layers that are called inside and are not told whether they train take `value`."""
    outer = getattr(_local, "training", None)
    _local.training = outer if value is None else value
    try:
        yield
    finally:
        _local.training = outer


def current_training():
    return getattr(_local, "training", None)


def track(variable):
    """get_session() shall initialize it."""
    variable.graph.__dict__.setdefault("_keras_variables", []).append(variable)


def give_later(graph, name, value):
    """A variable of this name, once it is made, begins with `value`."""
    graph.__dict__.setdefault("_keras_given", {})[name] = value


def get_session(op_input_list=()):
    """The default session, or one of Keras's own for the default graph, with Keras's variables initialized."""
    global _session
    session = ops.get_default_session()
    if session is None:
        graph = ops.get_default_graph()
        if _session is None or _session.graph is not graph or getattr(_session, "_closed", False):
            from millstream.client import session as session_lib
            _session = session_lib.Session(graph=graph)
        session = _session
    _initialize(session)
    return session


def _initialize(session):
    from millstream.ops.variables import state_ops
    variables = session.graph.__dict__.get("_keras_variables", [])
    done = session.__dict__.setdefault("_keras_done", set())
    new = [v for v in variables if id(v) not in done]
    if not new:
        return
    done.update(id(v) for v in new)
    with session.graph.as_default():
        known = session.run([state_ops.is_variable_initialized(v) for v in new])
        missing = [v.initializer for v, there in zip(new, known) if not there]
        if missing:
            session.run(missing)
    given = session.graph.__dict__.get("_keras_given", {})
    for variable in new:
        if variable.op.name in given:
            variable.load(given.pop(variable.op.name), session)


def set_session(session):
    global _session
    _session = session


def clear_session():
    """A new default graph, new names of layers, a new session."""
    global _session
    if _session is not None:
        _session.close()
    _session = None
    ops.reset_default_graph()


def get_uid(prefix=""):
    """1, 2, ... for each prefix, in each graph."""
    counts = ops.get_default_graph().__dict__.setdefault("_keras_uids", {})
    counts[prefix] = counts.get(prefix, 0) + 1
    return counts[prefix]


def reset_uids():
    ops.get_default_graph().__dict__.pop("_keras_uids", None)
    ops.get_default_graph().__dict__.pop("_layer_names", None)
