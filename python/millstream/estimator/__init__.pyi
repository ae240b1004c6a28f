# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.estimator import experimental as experimental
from millstream.estimator import export as export
from millstream.estimator import inputs as inputs
from millstream.estimators.canned import BaselineClassifier as BaselineClassifier
from millstream.estimators.canned import BaselineRegressor as BaselineRegressor
from millstream.estimators.canned import DNNClassifier as DNNClassifier
from millstream.estimators.canned import DNNEstimator as DNNEstimator
from millstream.estimators.canned import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from millstream.estimators.canned import DNNLinearCombinedEstimator as DNNLinearCombinedEstimator
from millstream.estimators.canned import DNNLinearCombinedRegressor as DNNLinearCombinedRegressor
from millstream.estimators.canned import DNNRegressor as DNNRegressor
from millstream.estimators.canned import LinearClassifier as LinearClassifier
from millstream.estimators.canned import LinearEstimator as LinearEstimator
from millstream.estimators.canned import LinearRegressor as LinearRegressor
from millstream.estimators.canned import add_metrics as add_metrics
from millstream.estimators.estimator import Estimator as Estimator
from millstream.estimators.exporters import BestExporter as BestExporter
from millstream.estimators.exporters import Exporter as Exporter
from millstream.estimators.exporters import FinalExporter as FinalExporter
from millstream.estimators.exporters import LatestExporter as LatestExporter
from millstream.estimators.heads import BinaryClassHead as BinaryClassHead
from millstream.estimators.heads import MultiClassHead as MultiClassHead
from millstream.estimators.heads import RegressionHead as RegressionHead
from millstream.estimators.model_fn import EstimatorSpec as EstimatorSpec
from millstream.estimators.model_fn import ModeKeys as ModeKeys
from millstream.estimators.model_fn import WarmStartSettings as WarmStartSettings
from millstream.estimators.parsing import classifier_parse_example_spec as classifier_parse_example_spec
from millstream.estimators.parsing import regressor_parse_example_spec as regressor_parse_example_spec
from millstream.estimators.run_config import RunConfig as RunConfig
from millstream.estimators.training import EvalSpec as EvalSpec
from millstream.estimators.training import TrainSpec as TrainSpec
from millstream.estimators.training import train_and_evaluate as train_and_evaluate
from millstream.training.basic_session_run_hooks import FeedFnHook as FeedFnHook
from millstream.training.basic_session_run_hooks import FinalOpsHook as FinalOpsHook
from millstream.training.basic_session_run_hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from millstream.training.basic_session_run_hooks import LoggingTensorHook as LoggingTensorHook
from millstream.training.basic_session_run_hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from millstream.training.basic_session_run_hooks import NanTensorHook as NanTensorHook
from millstream.training.basic_session_run_hooks import ProfilerHook as ProfilerHook
from millstream.training.basic_session_run_hooks import SecondOrStepTimer as SecondOrStepTimer
from millstream.training.basic_session_run_hooks import StepCounterHook as StepCounterHook
from millstream.training.basic_session_run_hooks import StopAtStepHook as StopAtStepHook
from millstream.training.saver_hooks import CheckpointSaverHook as CheckpointSaverHook
from millstream.training.saver_hooks import CheckpointSaverListener as CheckpointSaverListener
from millstream.training.saver_hooks import SummarySaverHook as SummarySaverHook
from millstream.training.session_run_hook import SessionRunArgs as SessionRunArgs
from millstream.training.session_run_hook import SessionRunContext as SessionRunContext
from millstream.training.session_run_hook import SessionRunHook as SessionRunHook
from millstream.training.session_run_hook import SessionRunValues as SessionRunValues
from millstream.training.warm_starting import VocabInfo as VocabInfo

__all__ = [
    "BaselineClassifier",
    "BaselineRegressor",
    "BestExporter",
    "BinaryClassHead",
    "CheckpointSaverHook",
    "CheckpointSaverListener",
    "DNNClassifier",
    "DNNEstimator",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedEstimator",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "EstimatorSpec",
    "EvalSpec",
    "Exporter",
    "FeedFnHook",
    "FinalExporter",
    "FinalOpsHook",
    "GlobalStepWaiterHook",
    "LatestExporter",
    "LinearClassifier",
    "LinearEstimator",
    "LinearRegressor",
    "LoggingTensorHook",
    "ModeKeys",
    "MultiClassHead",
    "NanLossDuringTrainingError",
    "NanTensorHook",
    "ProfilerHook",
    "RegressionHead",
    "RunConfig",
    "SecondOrStepTimer",
    "SessionRunArgs",
    "SessionRunContext",
    "SessionRunHook",
    "SessionRunValues",
    "StepCounterHook",
    "StopAtStepHook",
    "SummarySaverHook",
    "TrainSpec",
    "VocabInfo",
    "WarmStartSettings",
    "add_metrics",
    "classifier_parse_example_spec",
    "experimental",
    "export",
    "inputs",
    "regressor_parse_example_spec",
    "train_and_evaluate",
]
