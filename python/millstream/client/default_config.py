# SPDX-License-Identifier: Apache-2.0
"""The ConfigProto of sessions that are given none: what tf.config and tf.debugging have been told. None until then."""

_changes: list = []  # functions of a ConfigProto


def change(function):
    _changes.append(function)


def current():
    if not _changes:
        return None
    from millstream.proto import config_pb2
    config = config_pb2.ConfigProto()
    for function in _changes:
        function(config)
    return config


def reset():
    _changes.clear()
