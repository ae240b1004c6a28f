// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_SAVED_MODEL_FILES_H_
#define MILLSTREAM_TRAIN_SAVING_SAVED_MODEL_FILES_H_

namespace millstream {

// What a SavedModel's folder holds.
inline constexpr char kBinaryFile[] = "saved_model.pb";
inline constexpr char kTextFile[] = "saved_model.pbtxt";
inline constexpr char kVariablesFolder[] = "variables";
inline constexpr char kVariablesFile[] = "variables";
inline constexpr char kAssetsFolder[] = "assets";
// Collections of ops to run when it is loaded: the first that is there.
inline constexpr char kMainOpKey[] = "saved_model_main_op";
inline constexpr char kLegacyInitOpKey[] = "legacy_init_op";

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_SAVED_MODEL_FILES_H_
