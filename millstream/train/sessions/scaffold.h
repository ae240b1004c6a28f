// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SESSIONS_SCAFFOLD_H_
#define MILLSTREAM_TRAIN_SESSIONS_SCAFFOLD_H_

#include <functional>
#include <memory>

#include "millstream/graph/scope.h"
#include "millstream/runtime/session.h"
#include "millstream/train/saving/saver.h"

namespace millstream {

// Further names of collections.
namespace graph_keys {
inline constexpr char kInitOp[] = "init_op";
inline constexpr char kReadyOp[] = "ready_op";
inline constexpr char kReadyForLocalInitOp[] = "ready_for_local_init_op";
inline constexpr char kLocalInitOp[] = "local_init_op";
inline constexpr char kSummaryOp[] = "summary_op";
inline constexpr char kTableInitializers[] = "table_initializer";
inline constexpr char kResourceInitializers[] = "resource_initializers";
}  // namespace graph_keys

// What a training session needs beyond the training itself, as tf.train.Scaffold. A program sets what it wants to be
// its own; Finalize() takes the rest from the graph's collections or makes it.
struct Scaffold {
  Node* init_op = nullptr;  // all global variables
  Session::Feeds init_feeds;
  std::function<Status(Session&)> init_fn;  // after init_op
  Output ready_op;                          // a vector of names of what is not ready: uninitialized variables
  Output ready_for_local_init_op;           // the same of what local_init_op needs: uninitialized global variables
  Output uninitialized_op;                  // names of global variables without a value; made by Finalize()
  Node* local_init_op = nullptr;            // of every worker: local variables and tables
  Session::Feeds local_init_feeds;
  Output summary_op;                 // all summaries merged; none if the graph has none
  std::shared_ptr<Saver> saver;      // of all variables, sharded
  bool saves_in_background = false;  // set by a CheckpointSaverHook: the saver that is made can keep values

  // May be called again: what is there stays. FailedPrecondition if a collection has several items to choose from.
  Status Finalize(const Scope& scope);
};

// All summaries of the collection "summaries" in one; empty if there are none.
Output MergeAllSummaries(const Scope& scope);

namespace internal {
// The item of a collection or, if it has none, what `make` gives, which is added to it.
StatusOr<Output> GetOrMake(const Scope& scope, const char* argument, const char* collection,
                           const std::function<Output()>& make);
}  // namespace internal

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SESSIONS_SCAFFOLD_H_
