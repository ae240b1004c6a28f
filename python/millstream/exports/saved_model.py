# SPDX-License-Identifier: Apache-2.0
EXPORTS = {
    "millstream.savedmodel.saved_model": """
        saved_model.simple_save saved_model.load saved_model.loader.load saved_model.Builder=SavedModelBuilder
        saved_model.builder.SavedModelBuilder saved_model.contains_saved_model saved_model.maybe_saved_model_directory
        saved_model.loader.maybe_saved_model_directory""",
    "millstream.savedmodel.signatures": """
        saved_model.is_valid_signature saved_model.signature_def_utils.is_valid_signature saved_model.main_op_with_restore
        saved_model.main_op.main_op=main_op saved_model.main_op.main_op_with_restore
        saved_model.build_tensor_info saved_model.utils.build_tensor_info saved_model.build_signature_def
        saved_model.signature_def_utils.build_signature_def saved_model.predict_signature_def
        saved_model.signature_def_utils.predict_signature_def saved_model.classification_signature_def
        saved_model.signature_def_utils.classification_signature_def saved_model.regression_signature_def
        saved_model.signature_def_utils.regression_signature_def saved_model.get_tensor_from_tensor_info
        saved_model.utils.get_tensor_from_tensor_info""",
    "millstream.savedmodel.constants": """
        saved_model.constants= saved_model.tag_constants= saved_model.signature_constants=
        saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY saved_model.SERVING saved_model.TRAINING saved_model.GPU saved_model.TPU
        saved_model.ASSETS_DIRECTORY saved_model.ASSETS_KEY saved_model.LEGACY_INIT_OP_KEY saved_model.MAIN_OP_KEY
        saved_model.SAVED_MODEL_SCHEMA_VERSION saved_model.SAVED_MODEL_FILENAME_PB saved_model.SAVED_MODEL_FILENAME_PBTXT
        saved_model.VARIABLES_DIRECTORY saved_model.VARIABLES_FILENAME saved_model.CLASSIFY_INPUTS saved_model.CLASSIFY_METHOD_NAME
        saved_model.CLASSIFY_OUTPUT_CLASSES saved_model.CLASSIFY_OUTPUT_SCORES saved_model.PREDICT_INPUTS
        saved_model.PREDICT_METHOD_NAME saved_model.PREDICT_OUTPUTS saved_model.REGRESS_INPUTS saved_model.REGRESS_METHOD_NAME
        saved_model.REGRESS_OUTPUTS""",
}
