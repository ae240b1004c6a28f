# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.savedmodel.signatures import build_signature_def as build_signature_def
from millstream.savedmodel.signatures import classification_signature_def as classification_signature_def
from millstream.savedmodel.signatures import is_valid_signature as is_valid_signature
from millstream.savedmodel.signatures import predict_signature_def as predict_signature_def
from millstream.savedmodel.signatures import regression_signature_def as regression_signature_def

__all__ = [
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]
