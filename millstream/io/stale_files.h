// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_IO_STALE_FILES_H_
#define MILLSTREAM_IO_STALE_FILES_H_

#include <memory>
#include <string>

#include "millstream/base/file.h"
#include "millstream/base/status.h"

namespace millstream {

// Deletes what dead processes have left in a folder: temporary files (base/temporary_file.h), data files of checkpoints
// that never got their index, and folders "CHECKPOINT_temp_*" in which tasks wrote their parts. Files of processes that
// live, on whatever host, are never touched. Errors do not matter: a later call tries again.
void RemoveStaleFiles(const std::string& folder);

// Begins to delete the checkpoint `prefix`: from now on it has no index. Until the file that is returned is deleted,
// after the data, RemoveStaleFiles() knows which data files go with it, whoever dies. "" if there is nothing to delete
// later.
StatusOr<std::string> RetireIndex(const std::string& prefix);

// A save of the checkpoint `prefix` in the folder, by this process: as long as it lives, nobody deletes the parts that
// other tasks write for it. Deletes stale files first, and, if the save failed, what it has left.
class SaveInProgress {
 public:
  explicit SaveInProgress(const std::string& prefix);
  ~SaveInProgress();
  SaveInProgress(const SaveInProgress&) = delete;
  SaveInProgress& operator=(const SaveInProgress&) = delete;
  // All files have their names.
  void Succeed();

 private:
  const std::string prefix_;
  std::string marker_path_;
  std::unique_ptr<WritableFile> marker_;  // null: it could not be made, the save will say why
};

}  // namespace millstream

#endif  // MILLSTREAM_IO_STALE_FILES_H_
