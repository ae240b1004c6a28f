# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.keras_v1.losses import BinaryCrossentropy as BinaryCrossentropy
from millstream.keras_v1.losses import CategoricalCrossentropy as CategoricalCrossentropy
from millstream.keras_v1.losses import CategoricalHinge as CategoricalHinge
from millstream.keras_v1.losses import CosineSimilarity as CosineSimilarity
from millstream.keras_v1.losses import Hinge as Hinge
from millstream.keras_v1.losses import Huber as Huber
from millstream.keras_v1.losses import KLD as KLD
from millstream.keras_v1.losses import KLDivergence as KLDivergence
from millstream.keras_v1.losses import LogCosh as LogCosh
from millstream.keras_v1.losses import Loss as Loss
from millstream.keras_v1.losses import MAE as MAE
from millstream.keras_v1.losses import MAPE as MAPE
from millstream.keras_v1.losses import MSE as MSE
from millstream.keras_v1.losses import MSLE as MSLE
from millstream.keras_v1.losses import MeanAbsoluteError as MeanAbsoluteError
from millstream.keras_v1.losses import MeanAbsolutePercentageError as MeanAbsolutePercentageError
from millstream.keras_v1.losses import MeanSquaredError as MeanSquaredError
from millstream.keras_v1.losses import MeanSquaredLogarithmicError as MeanSquaredLogarithmicError
from millstream.keras_v1.losses import Poisson as Poisson
from millstream.keras_v1.losses import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from millstream.keras_v1.losses import SquaredHinge as SquaredHinge
from millstream.keras_v1.losses import binary_crossentropy as binary_crossentropy
from millstream.keras_v1.losses import categorical_crossentropy as categorical_crossentropy
from millstream.keras_v1.losses import categorical_hinge as categorical_hinge
from millstream.keras_v1.losses import cosine as cosine
from millstream.keras_v1.losses import cosine_proximity as cosine_proximity
from millstream.keras_v1.losses import cosine_similarity as cosine_similarity
from millstream.keras_v1.losses import deserialize as deserialize
from millstream.keras_v1.losses import get as get
from millstream.keras_v1.losses import hinge as hinge
from millstream.keras_v1.losses import huber_loss as huber_loss
from millstream.keras_v1.losses import kld as kld
from millstream.keras_v1.losses import kullback_leibler_divergence as kullback_leibler_divergence
from millstream.keras_v1.losses import logcosh as logcosh
from millstream.keras_v1.losses import mae as mae
from millstream.keras_v1.losses import mape as mape
from millstream.keras_v1.losses import mean_absolute_error as mean_absolute_error
from millstream.keras_v1.losses import mean_absolute_percentage_error as mean_absolute_percentage_error
from millstream.keras_v1.losses import mean_squared_error as mean_squared_error
from millstream.keras_v1.losses import mean_squared_logarithmic_error as mean_squared_logarithmic_error
from millstream.keras_v1.losses import mse as mse
from millstream.keras_v1.losses import msle as msle
from millstream.keras_v1.losses import poisson as poisson
from millstream.keras_v1.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy
from millstream.keras_v1.losses import squared_hinge as squared_hinge

__all__ = [
    "BinaryCrossentropy",
    "CategoricalCrossentropy",
    "CategoricalHinge",
    "CosineSimilarity",
    "Hinge",
    "Huber",
    "KLD",
    "KLDivergence",
    "LogCosh",
    "Loss",
    "MAE",
    "MAPE",
    "MSE",
    "MSLE",
    "MeanAbsoluteError",
    "MeanAbsolutePercentageError",
    "MeanSquaredError",
    "MeanSquaredLogarithmicError",
    "Poisson",
    "SparseCategoricalCrossentropy",
    "SquaredHinge",
    "binary_crossentropy",
    "categorical_crossentropy",
    "categorical_hinge",
    "cosine",
    "cosine_proximity",
    "cosine_similarity",
    "deserialize",
    "get",
    "hinge",
    "huber_loss",
    "kld",
    "kullback_leibler_divergence",
    "logcosh",
    "mae",
    "mape",
    "mean_absolute_error",
    "mean_absolute_percentage_error",
    "mean_squared_error",
    "mean_squared_logarithmic_error",
    "mse",
    "msle",
    "poisson",
    "sparse_categorical_crossentropy",
    "squared_hinge",
]
