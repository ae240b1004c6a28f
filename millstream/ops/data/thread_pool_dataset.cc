// SPDX-License-Identifier: Apache-2.0
// Datasets with a thread pool of their own. Our runtime has one pool for all of them, as large as the machine: the
// ops check what they are given, and that is all they change.
#include "millstream/framework/op.h"
#include "millstream/ops/data/dataset.h"
#include "millstream/ops/resources/named_resource.h"

namespace millstream {
namespace {

class DatasetThreadPool final : public Resource {
 public:
  std::string DebugString() const override { return "ThreadPoolResource"; }
};

class MakeThreadPoolHandle final : public Kernel {
 public:
  explicit MakeThreadPoolHandle(KernelInit& init)
      : resource_(init, "tensorflow::data::experimental::ThreadPoolResource") {
    constexpr int64_t kThreadLimit = 65536;
    const auto threads = init.Attr<int64_t>("num_threads");
    if (threads < 0) init.Fail(errors::InvalidArgument("`num_threads` must be >= 0"));
    if (threads >= kThreadLimit) init.Fail(errors::InvalidArgument("`num_threads` must be < ", kThreadLimit));
  }
  Status Compute(KernelContext& ctx) override {
    return resource_.Output(
        ctx, [] { return MakeRef<DatasetThreadPool>(); }, [](const DatasetThreadPool&) { return OkStatus(); });
  }

 private:
  NamedResource<DatasetThreadPool> resource_;
};

Status ThreadPoolDatasetCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(Ref<Dataset> input, DatasetInput(ctx, 0));
  RETURN_IF_ERROR(ctx.ResourceInput<DatasetThreadPool>(1).status());
  OutputDataset(ctx, std::move(input));
  return OkStatus();
}

#define POOL_HANDLE(Name)                        \
  OP(Name)                                       \
      .Output("handle: resource")                \
      .Attr("num_threads: int")                  \
      .Attr("max_intra_op_parallelism: int = 1") \
      .Attr("display_name: string")              \
      .Attr("container: string = ''")            \
      .Attr("shared_name: string = ''")          \
      .Stateful()                                \
      .Shape(ScalarShape)                        \
      .Cpu<MakeThreadPoolHandle>()               \
      .Doc("Stands for a thread pool of datasets.")
POOL_HANDLE("ThreadPoolHandle");
POOL_HANDLE("ExperimentalThreadPoolHandle");
#undef POOL_HANDLE

#define POOL_DATASET(Name)                     \
  OP(Name)                                     \
      .Input("input_dataset: variant")         \
      .Input("thread_pool: resource")          \
      .Output("handle: variant")               \
      .Attr("output_types: list(type) >= 1")   \
      .Attr("output_shapes: list(shape) >= 1") \
      .Stateful()                              \
      .Shape(ScalarShape)                      \
      .Cpu(ThreadPoolDatasetCpu)               \
      .Doc("The same dataset.")
POOL_DATASET("ThreadPoolDataset");
POOL_DATASET("ExperimentalThreadPoolDataset");
#undef POOL_DATASET

}  // namespace
}  // namespace millstream
