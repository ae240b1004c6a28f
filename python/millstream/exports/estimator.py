# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.estimators.estimator": "estimator.Estimator",
    "millstream.estimators.model_fn": "estimator.EstimatorSpec estimator.ModeKeys",
    "millstream.estimators.run_config": "estimator.RunConfig",
    "millstream.estimators.training": "estimator.TrainSpec estimator.EvalSpec estimator.train_and_evaluate",
    "millstream.estimators.inputs": "estimator.inputs.numpy_input_fn estimator.inputs.pandas_input_fn",
    "millstream.estimators.exporters": """
        estimator.Exporter estimator.LatestExporter estimator.FinalExporter estimator.BestExporter""",
    "millstream.estimators.export": """
        estimator.export.ExportOutput estimator.export.PredictOutput estimator.export.ClassificationOutput
        estimator.export.RegressionOutput estimator.export.ServingInputReceiver
        estimator.export.build_raw_serving_input_receiver_fn estimator.export.build_parsing_serving_input_receiver_fn""",
    "millstream.training.basic_session_run_hooks": """
        estimator.StopAtStepHook=StopAtStepHook estimator.StepCounterHook=StepCounterHook estimator.NanTensorHook=NanTensorHook
        estimator.FinalOpsHook=FinalOpsHook estimator.FeedFnHook=FeedFnHook estimator.ProfilerHook=ProfilerHook
        estimator.GlobalStepWaiterHook=GlobalStepWaiterHook estimator.SecondOrStepTimer=SecondOrStepTimer
        estimator.NanLossDuringTrainingError=NanLossDuringTrainingError""",
    "millstream.training.saver_hooks": """
        estimator.CheckpointSaverHook=CheckpointSaverHook estimator.CheckpointSaverListener=CheckpointSaverListener
        estimator.SummarySaverHook=SummarySaverHook""",
    "millstream.training.session_run_hook": """
        estimator.SessionRunHook=SessionRunHook estimator.SessionRunArgs=SessionRunArgs
        estimator.SessionRunContext=SessionRunContext estimator.SessionRunValues=SessionRunValues""",
}
