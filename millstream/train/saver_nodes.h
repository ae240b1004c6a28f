// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVER_NODES_H_
#define MILLSTREAM_TRAIN_SAVER_NODES_H_

#include "millstream/train/saver.h"

namespace millstream {

// The nodes with which a Saver saves and restores.
struct SaverNodes {
  Output filename;  // fed with the checkpoint's path
  Output save;      // fetched: writes it and gives its path
  Node* restore = nullptr;
  // Sharded savers of variables on tasks have a second way, for tasks that do not see the chief's disk: a save and a restore on the
  // master's task, and a probe that gives what each task reads in the file `filename`. Docs: adr/0012-saving-through-the-chief.md.
  Output probe, save_through_chief;
  Node* restore_through_chief = nullptr;
};

// Adds them. REQUIRES: variables is not empty.
StatusOr<SaverNodes> AddSaverNodes(const Scope& scope, const std::vector<Saveable>& variables, const SaverOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVER_NODES_H_
