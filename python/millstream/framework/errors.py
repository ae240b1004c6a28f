# SPDX-License-Identifier: Apache-2.0
"""Exceptions, one class for each status code."""
from __future__ import annotations

import re
from typing import TYPE_CHECKING

from millstream import _core

if TYPE_CHECKING:
    from typing import Any, Optional

    from millstream.framework.operation import Operation

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


class OpError(Exception):
    """An error of a running step. `op` is the operation that failed, where it is known."""

    def __init__(self, node_def: Any, op: Any, message: Any, error_code: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, error_code, *args)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code

    @property
    def message(self) -> str:
        return self._message

    @property
    def op(self) -> Optional[Operation]:
        return self._op

    @property
    def error_code(self) -> int:
        return self._error_code

    @property
    def node_def(self) -> Any:
        return self._op.node_def if self._node_def is None and self._op is not None else self._node_def

    @property
    def experimental_payloads(self) -> Any:
        return {}

    def __str__(self):
        if self._op is None:
            return self._message
        lines = [self._message, "", f"Original stack trace for {self._op.name!r}:"]
        lines += [line.rstrip() for line in self._op._traceback_lines()]
        return "\n".join(lines)

    def __reduce__(self):
        return _remake, (self._error_code, self._message)


def _remake(code, message):
    return make(code, message)


class CancelledError(OpError):
    """An operation or a step was cancelled."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, CANCELLED, *args)


class InvalidArgumentError(OpError):
    """An operation got an invalid argument."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, INVALID_ARGUMENT, *args)


class DeadlineExceededError(OpError):
    """A deadline passed before the end."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, DEADLINE_EXCEEDED, *args)


class NotFoundError(OpError):
    """Something that was asked for was not found."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, NOT_FOUND, *args)


class AlreadyExistsError(OpError):
    """Something that was to be made is there already."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, ALREADY_EXISTS, *args)


class PermissionDeniedError(OpError):
    """The caller may not do that."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, PERMISSION_DENIED, *args)


class UnauthenticatedError(OpError):
    """The caller is not known."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, UNAUTHENTICATED, *args)


class ResourceExhaustedError(OpError):
    """Memory or another resource ran out."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, RESOURCE_EXHAUSTED, *args)


class FailedPreconditionError(OpError):
    """The system is not in the state that an operation needs."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, FAILED_PRECONDITION, *args)


class AbortedError(OpError):
    """An operation was aborted, typically by a concurrent action."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, ABORTED, *args)


class OutOfRangeError(OpError):
    """An operation went past the end of its input."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, OUT_OF_RANGE, *args)


class UnimplementedError(OpError):
    """An operation is not implemented."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, UNIMPLEMENTED, *args)


class InternalError(OpError):
    """An invariant of the system was broken."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, INTERNAL, *args)


class UnavailableError(OpError):
    """The runtime cannot be reached now."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, UNAVAILABLE, *args)


class DataLossError(OpError):
    """Data was lost or is corrupt."""

    def __init__(self, node_def: Any, op: Any, message: Any, *args: Any) -> None:
        super().__init__(node_def, op, message, DATA_LOSS, *args)


class UnknownError(OpError):
    """An error of no other class."""

    def __init__(self, node_def: Any, op: Any, message: Any, error_code: Any = UNKNOWN, *args: Any) -> None:
        super().__init__(node_def, op, message, error_code, *args)


_BY_CODE = {
    CANCELLED: CancelledError, UNKNOWN: UnknownError, INVALID_ARGUMENT: InvalidArgumentError,
    DEADLINE_EXCEEDED: DeadlineExceededError, NOT_FOUND: NotFoundError, ALREADY_EXISTS: AlreadyExistsError,
    PERMISSION_DENIED: PermissionDeniedError, UNAUTHENTICATED: UnauthenticatedError,
    RESOURCE_EXHAUSTED: ResourceExhaustedError, FAILED_PRECONDITION: FailedPreconditionError, ABORTED: AbortedError,
    OUT_OF_RANGE: OutOfRangeError, UNIMPLEMENTED: UnimplementedError, INTERNAL: InternalError,
    UNAVAILABLE: UnavailableError, DATA_LOSS: DataLossError,
}
_CODE_BY_CLASS = {c: code for code, c in _BY_CODE.items()}


def exception_type_from_error_code(error_code: Any) -> Any:
    return _BY_CODE[error_code]


def error_code_from_exception_type(cls: Any) -> Any:
    return _CODE_BY_CLASS.get(cls, UNKNOWN)


def make(code, message):
    """The exception for a status code."""
    cls = _BY_CODE.get(code)
    return UnknownError(None, None, message, code) if cls is None else cls(None, None, message)


_NODE_IN_MESSAGE = re.compile(r"\{\{node ([^\s}]+)\}\}")


def with_op(error, graph):
    """The same error with the operation that its message names."""
    if error.op is not None:
        return error
    match = _NODE_IN_MESSAGE.search(error.message)
    if match is None:
        return error
    try:
        op = graph.get_operation_by_name(match.group(1))
    except (KeyError, ValueError, TypeError):
        return error
    error._op = op
    return error


class raise_as:
    """Turns errors of building a graph into the Python exceptions that TF1 raises for them."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, (InvalidArgumentError, NotFoundError)):
            raise ValueError(error.message) from None
        return False


_core.set_error_maker(make)
