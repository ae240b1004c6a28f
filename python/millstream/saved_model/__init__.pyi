# SPDX-License-Identifier: Apache-2.0
# Written by tools/api/stubs.py. Do not edit.
from millstream.saved_model import builder as builder
from millstream.saved_model import loader as loader
from millstream.saved_model import main_op as main_op
from millstream.saved_model import signature_def_utils as signature_def_utils
from millstream.saved_model import utils as utils
from millstream.savedmodel import constants as constants
from millstream.savedmodel import constants as signature_constants
from millstream.savedmodel import constants as tag_constants
from millstream.savedmodel.constants import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from millstream.savedmodel.constants import ASSETS_KEY as ASSETS_KEY
from millstream.savedmodel.constants import CLASSIFY_INPUTS as CLASSIFY_INPUTS
from millstream.savedmodel.constants import CLASSIFY_METHOD_NAME as CLASSIFY_METHOD_NAME
from millstream.savedmodel.constants import CLASSIFY_OUTPUT_CLASSES as CLASSIFY_OUTPUT_CLASSES
from millstream.savedmodel.constants import CLASSIFY_OUTPUT_SCORES as CLASSIFY_OUTPUT_SCORES
from millstream.savedmodel.constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY as DEFAULT_SERVING_SIGNATURE_DEF_KEY
from millstream.savedmodel.constants import GPU as GPU
from millstream.savedmodel.constants import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from millstream.savedmodel.constants import MAIN_OP_KEY as MAIN_OP_KEY
from millstream.savedmodel.constants import PREDICT_INPUTS as PREDICT_INPUTS
from millstream.savedmodel.constants import PREDICT_METHOD_NAME as PREDICT_METHOD_NAME
from millstream.savedmodel.constants import PREDICT_OUTPUTS as PREDICT_OUTPUTS
from millstream.savedmodel.constants import REGRESS_INPUTS as REGRESS_INPUTS
from millstream.savedmodel.constants import REGRESS_METHOD_NAME as REGRESS_METHOD_NAME
from millstream.savedmodel.constants import REGRESS_OUTPUTS as REGRESS_OUTPUTS
from millstream.savedmodel.constants import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from millstream.savedmodel.constants import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from millstream.savedmodel.constants import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from millstream.savedmodel.constants import SERVING as SERVING
from millstream.savedmodel.constants import TPU as TPU
from millstream.savedmodel.constants import TRAINING as TRAINING
from millstream.savedmodel.constants import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from millstream.savedmodel.constants import VARIABLES_FILENAME as VARIABLES_FILENAME
from millstream.savedmodel.saved_model import SavedModelBuilder as Builder
from millstream.savedmodel.saved_model import contains_saved_model as contains_saved_model
from millstream.savedmodel.saved_model import load as load
from millstream.savedmodel.saved_model import maybe_saved_model_directory as maybe_saved_model_directory
from millstream.savedmodel.saved_model import simple_save as simple_save
from millstream.savedmodel.signatures import build_signature_def as build_signature_def
from millstream.savedmodel.signatures import build_tensor_info as build_tensor_info
from millstream.savedmodel.signatures import classification_signature_def as classification_signature_def
from millstream.savedmodel.signatures import get_tensor_from_tensor_info as get_tensor_from_tensor_info
from millstream.savedmodel.signatures import is_valid_signature as is_valid_signature
from millstream.savedmodel.signatures import main_op_with_restore as main_op_with_restore
from millstream.savedmodel.signatures import predict_signature_def as predict_signature_def
from millstream.savedmodel.signatures import regression_signature_def as regression_signature_def

__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "Builder",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "maybe_saved_model_directory",
    "predict_signature_def",
    "regression_signature_def",
    "signature_constants",
    "signature_def_utils",
    "simple_save",
    "tag_constants",
    "utils",
]
