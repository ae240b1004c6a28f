// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_SAVER_NODES_H_
#define MILLSTREAM_TRAIN_SAVING_SAVER_NODES_H_

#include "millstream/train/saving/saver.h"

namespace millstream {

// The nodes with which a Saver saves and restores.
struct SaverNodes {
  Output filename;  // fed with the checkpoint's path
  Output save;      // fetched: writes it and gives its path
  Node* restore = nullptr;
  // Sharded savers of variables on tasks have a second way, for tasks that do not see the chief's disk: a save and a
  // restore on the master's task, and a probe that gives what each task reads in the file `filename`. Docs:
  // adr/0012-saving-through-the-chief.md.
  Output probe, save_through_chief;
  Node* restore_through_chief = nullptr;
  // With SaverOptions::background: what keeps the values of now in an area of each task, and what saves values that are
  // kept. An area holds what a save has not taken: its size, and a node that takes it. Docs:
  // adr/0013-saving-in-the-background.md.
  Node* keep = nullptr;
  Output save_kept, save_kept_through_chief;
  std::vector<Output> kept_sizes;
  std::vector<Node*> kept_takes;
};

// Adds them. REQUIRES: variables is not empty.
StatusOr<SaverNodes> AddSaverNodes(const Scope& scope, const std::vector<Saveable>& variables,
                                   const SaverOptions& options);

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_SAVER_NODES_H_
