# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.contrib.learn import datasets as datasets
from millstream.contrib.learn import preprocessing as preprocessing
from millstream.contrib.learn import python as python
from millstream.estimators.contrib_learn import DNNClassifier as DNNClassifier
from millstream.estimators.contrib_learn import DNNLinearCombinedClassifier as DNNLinearCombinedClassifier
from millstream.estimators.contrib_learn import DNNRegressor as DNNRegressor
from millstream.estimators.contrib_learn import Estimator as Estimator
from millstream.estimators.contrib_learn import LinearClassifier as LinearClassifier
from millstream.estimators.contrib_learn import LinearRegressor as LinearRegressor
from millstream.estimators.contrib_learn import MetricSpec as MetricSpec
from millstream.estimators.contrib_learn import ModeKeys as ModeKeys
from millstream.estimators.contrib_learn import ModelFnOps as ModelFnOps
from millstream.estimators.contrib_learn import RunConfig as RunConfig
from millstream.estimators.contrib_learn import SKCompat as SKCompat
from millstream.estimators.contrib_learn import infer_real_valued_columns_from_input as infer_real_valued_columns_from_input

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNRegressor",
    "Estimator",
    "LinearClassifier",
    "LinearRegressor",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "RunConfig",
    "SKCompat",
    "datasets",
    "infer_real_valued_columns_from_input",
    "preprocessing",
    "python",
]
