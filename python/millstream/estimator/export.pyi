# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimators.export import ClassificationOutput as ClassificationOutput
from millstream.estimators.export import ExportOutput as ExportOutput
from millstream.estimators.export import PredictOutput as PredictOutput
from millstream.estimators.export import RegressionOutput as RegressionOutput
from millstream.estimators.export import ServingInputReceiver as ServingInputReceiver
from millstream.estimators.export import build_parsing_serving_input_receiver_fn as build_parsing_serving_input_receiver_fn
from millstream.estimators.export import build_raw_serving_input_receiver_fn as build_raw_serving_input_receiver_fn

__all__ = [
    "ClassificationOutput",
    "ExportOutput",
    "PredictOutput",
    "RegressionOutput",
    "ServingInputReceiver",
    "build_parsing_serving_input_receiver_fn",
    "build_raw_serving_input_receiver_fn",
]
