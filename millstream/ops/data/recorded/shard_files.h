// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_DATA_RECORDED_SHARD_FILES_H_
#define MILLSTREAM_OPS_DATA_RECORDED_SHARD_FILES_H_

#include "millstream/ops/data/dataset.h"

namespace millstream {

// The part of a pipeline that is for one of `workers` workers.
struct WorkerPart {
  int64_t workers = 1;
  int64_t index = 0;
};

// One of every part.workers elements. `needed`: InvalidArgument if there are fewer than workers.
StatusOr<Ref<Dataset>> ShardElements(const Dataset& dataset, WorkerPart part, bool needed, const KernelContext& ctx);

// The pipeline made anew so that it reads only every part.workers-th file: file names are sharded where a reader, or a
// function that has one, takes them, before they are shuffled. NotFound if no reader takes its names from a dataset.
StatusOr<Ref<Dataset>> ShardFiles(const Dataset& dataset, WorkerPart part, const KernelContext& ctx);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_DATA_RECORDED_SHARD_FILES_H_
