# SPDX-License-Identifier: Apache-2.0
"""Where sessions without a target run: in the process, or at a server of it that a library has named (millstream.horovod, strategies of
several workers), since collective ops find the tasks of their group there."""

_target = ""


def set_target(target):
    """`target`: of a server, or a function that gives it when the first session needs it."""
    global _target
    _target = target


def is_set():
    return bool(_target)


def target_and_config(config):
    """The target, and a copy of a ConfigProto (or None) for the session there: like a local session it has variables of its own."""
    from millstream.proto import config_pb2
    copy = config_pb2.ConfigProto()
    if config is not None:
        copy.ParseFromString(config.SerializeToString())
    copy.isolate_session_state = True
    return _target() if callable(_target) else _target, copy
