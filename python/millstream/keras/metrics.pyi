# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.metrics import BinaryAccuracy as BinaryAccuracy
from millstream.keras_v1.metrics import BinaryCrossentropy as BinaryCrossentropy
from millstream.keras_v1.metrics import CategoricalAccuracy as CategoricalAccuracy
from millstream.keras_v1.metrics import CategoricalCrossentropy as CategoricalCrossentropy
from millstream.keras_v1.metrics import MAE as MAE
from millstream.keras_v1.metrics import MAPE as MAPE
from millstream.keras_v1.metrics import MSE as MSE
from millstream.keras_v1.metrics import MSLE as MSLE
from millstream.keras_v1.metrics import MeanAbsoluteError as MeanAbsoluteError
from millstream.keras_v1.metrics import MeanSquaredError as MeanSquaredError
from millstream.keras_v1.metrics import SparseCategoricalAccuracy as SparseCategoricalAccuracy
from millstream.keras_v1.metrics import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from millstream.keras_v1.metrics import SparseTopKCategoricalAccuracy as SparseTopKCategoricalAccuracy
from millstream.keras_v1.metrics import TopKCategoricalAccuracy as TopKCategoricalAccuracy
from millstream.keras_v1.metrics import binary_accuracy as binary_accuracy
from millstream.keras_v1.metrics import binary_crossentropy as binary_crossentropy
from millstream.keras_v1.metrics import categorical_accuracy as categorical_accuracy
from millstream.keras_v1.metrics import categorical_crossentropy as categorical_crossentropy
from millstream.keras_v1.metrics import cosine as cosine
from millstream.keras_v1.metrics import cosine_proximity as cosine_proximity
from millstream.keras_v1.metrics import deserialize as deserialize
from millstream.keras_v1.metrics import get as get
from millstream.keras_v1.metrics import hinge as hinge
from millstream.keras_v1.metrics import kullback_leibler_divergence as kullback_leibler_divergence
from millstream.keras_v1.metrics import mae as mae
from millstream.keras_v1.metrics import mape as mape
from millstream.keras_v1.metrics import mean_absolute_error as mean_absolute_error
from millstream.keras_v1.metrics import mean_absolute_percentage_error as mean_absolute_percentage_error
from millstream.keras_v1.metrics import mean_squared_error as mean_squared_error
from millstream.keras_v1.metrics import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from millstream.keras_v1.metrics import mse as mse
from millstream.keras_v1.metrics import msle as msle
from millstream.keras_v1.metrics import poisson as poisson
from millstream.keras_v1.metrics import sparse_categorical_accuracy as sparse_categorical_accuracy
from millstream.keras_v1.metrics import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from millstream.keras_v1.metrics import sparse_top_k_categorical_accuracy as sparse_top_k_categorical_accuracy
from millstream.keras_v1.metrics import squared_hinge as squared_hinge
from millstream.keras_v1.metrics import top_k_categorical_accuracy as top_k_categorical_accuracy

__all__ = [
    "BinaryAccuracy",
    "BinaryCrossentropy",
    "CategoricalAccuracy",
    "CategoricalCrossentropy",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "SparseCategoricalAccuracy",
    "SparseCategoricalCrossentropy",
    "SparseTopKCategoricalAccuracy",
    "TopKCategoricalAccuracy",
    "binary_accuracy",
    "binary_crossentropy",
    "categorical_accuracy",
    "categorical_crossentropy",
    "cosine",
    "cosine_proximity",
    "deserialize",
    "get",
    "hinge",
    "kullback_leibler_divergence",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "poisson",
    "sparse_categorical_accuracy",
    "sparse_categorical_crossentropy",
    "sparse_top_k_categorical_accuracy",
    "squared_hinge",
    "top_k_categorical_accuracy",
]
