# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.estimators.estimator": "estimator.Estimator",
    "millstream.estimators.model_fn": "estimator.EstimatorSpec estimator.ModeKeys estimator.WarmStartSettings",
    "millstream.estimators.canned": """
        estimator.LinearClassifier estimator.LinearRegressor estimator.LinearEstimator estimator.DNNClassifier estimator.DNNRegressor
        estimator.DNNEstimator estimator.DNNLinearCombinedClassifier estimator.DNNLinearCombinedRegressor
        estimator.DNNLinearCombinedEstimator estimator.BaselineClassifier estimator.BaselineRegressor estimator.add_metrics
        contrib.estimator.add_metrics=add_metrics""",
    "millstream.estimators.heads": """
        estimator.BinaryClassHead estimator.MultiClassHead estimator.RegressionHead
        contrib.estimator.binary_classification_head=BinaryClassHead contrib.estimator.multi_class_head=MultiClassHead
        contrib.estimator.regression_head=regression_head""",
    "millstream.estimators.contrib_learn": """
        contrib.learn.DNNClassifier contrib.learn.DNNRegressor contrib.learn.LinearClassifier contrib.learn.LinearRegressor
        contrib.learn.DNNLinearCombinedClassifier contrib.learn.Estimator contrib.learn.ModeKeys contrib.learn.ModelFnOps
        contrib.learn.MetricSpec contrib.learn.RunConfig contrib.learn.SKCompat contrib.learn.infer_real_valued_columns_from_input""",
    "millstream.estimators.early_stopping": " ".join(
        f"{space}.{n}={n}" for space in ("contrib.estimator", "estimator.experimental") for n in """
        make_early_stopping_hook stop_if_no_increase_hook stop_if_no_decrease_hook stop_if_higher_hook stop_if_lower_hook""".split()) +
    " contrib.estimator.read_eval_metrics=read_eval_metrics",
    "millstream.estimators.predictor": "contrib.predictor.from_saved_model contrib.predictor.from_estimator",
    "millstream.estimators.parsing": "estimator.classifier_parse_example_spec estimator.regressor_parse_example_spec",
    "millstream.training.warm_starting": """
        train.VocabInfo train.warm_start estimator.VocabInfo=VocabInfo""",
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
