// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_SAVING_META_GRAPH_COLLECTIONS_H_
#define MILLSTREAM_TRAIN_SAVING_META_GRAPH_COLLECTIONS_H_

#include "millstream/train/variables/variables.h"

namespace millstream {

// The collections that every meta graph has, by what they hold.
inline constexpr const char* kVariableCollections[] = {
    graph_keys::kGlobalVariables,        graph_keys::kLocalVariables, graph_keys::kTrainableVariables,
    graph_keys::kMovingAverageVariables, graph_keys::kGlobalStep,     graph_keys::kMetricVariables,
    graph_keys::kModelVariables};
inline constexpr const char* kTensorCollections[] = {graph_keys::kSummaries, graph_keys::kLosses,
                                                     graph_keys::kRegularizationLosses, graph_keys::kTrainOp,
                                                     graph_keys::kUpdateOps};
inline constexpr char kQueueRunners[] = "queue_runners";

}  // namespace millstream

#endif  // MILLSTREAM_TRAIN_SAVING_META_GRAPH_COLLECTIONS_H_
