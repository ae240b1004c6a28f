# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.framework.errors import ABORTED as ABORTED
from millstream.framework.errors import ALREADY_EXISTS as ALREADY_EXISTS
from millstream.framework.errors import AbortedError as AbortedError
from millstream.framework.errors import AlreadyExistsError as AlreadyExistsError
from millstream.framework.errors import CANCELLED as CANCELLED
from millstream.framework.errors import CancelledError as CancelledError
from millstream.framework.errors import DATA_LOSS as DATA_LOSS
from millstream.framework.errors import DEADLINE_EXCEEDED as DEADLINE_EXCEEDED
from millstream.framework.errors import DataLossError as DataLossError
from millstream.framework.errors import DeadlineExceededError as DeadlineExceededError
from millstream.framework.errors import FAILED_PRECONDITION as FAILED_PRECONDITION
from millstream.framework.errors import FailedPreconditionError as FailedPreconditionError
from millstream.framework.errors import INTERNAL as INTERNAL
from millstream.framework.errors import INVALID_ARGUMENT as INVALID_ARGUMENT
from millstream.framework.errors import InternalError as InternalError
from millstream.framework.errors import InvalidArgumentError as InvalidArgumentError
from millstream.framework.errors import NOT_FOUND as NOT_FOUND
from millstream.framework.errors import NotFoundError as NotFoundError
from millstream.framework.errors import OK as OK
from millstream.framework.errors import OUT_OF_RANGE as OUT_OF_RANGE
from millstream.framework.errors import OpError as OpError
from millstream.framework.errors import OutOfRangeError as OutOfRangeError
from millstream.framework.errors import PERMISSION_DENIED as PERMISSION_DENIED
from millstream.framework.errors import PermissionDeniedError as PermissionDeniedError
from millstream.framework.errors import RESOURCE_EXHAUSTED as RESOURCE_EXHAUSTED
from millstream.framework.errors import ResourceExhaustedError as ResourceExhaustedError
from millstream.framework.errors import UNAUTHENTICATED as UNAUTHENTICATED
from millstream.framework.errors import UNAVAILABLE as UNAVAILABLE
from millstream.framework.errors import UNIMPLEMENTED as UNIMPLEMENTED
from millstream.framework.errors import UNKNOWN as UNKNOWN
from millstream.framework.errors import UnauthenticatedError as UnauthenticatedError
from millstream.framework.errors import UnavailableError as UnavailableError
from millstream.framework.errors import UnimplementedError as UnimplementedError
from millstream.framework.errors import UnknownError as UnknownError
from millstream.framework.errors import error_code_from_exception_type as error_code_from_exception_type
from millstream.framework.errors import exception_type_from_error_code as exception_type_from_error_code

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "AbortedError",
    "AlreadyExistsError",
    "CANCELLED",
    "CancelledError",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "DataLossError",
    "DeadlineExceededError",
    "FAILED_PRECONDITION",
    "FailedPreconditionError",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "InternalError",
    "InvalidArgumentError",
    "NOT_FOUND",
    "NotFoundError",
    "OK",
    "OUT_OF_RANGE",
    "OpError",
    "OutOfRangeError",
    "PERMISSION_DENIED",
    "PermissionDeniedError",
    "RESOURCE_EXHAUSTED",
    "ResourceExhaustedError",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
]
