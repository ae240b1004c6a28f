// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_COLLECTIVE_COLLECTIVE_KERNEL_H_
#define MILLSTREAM_OPS_COLLECTIVE_COLLECTIVE_KERNEL_H_

#include <string>
#include <utility>

#include "millstream/base/mutex.h"
#include "millstream/collective/op_hub.h"
#include "millstream/framework/op.h"

namespace millstream {

// The kernels of collective ops wait, without a thread, in the OpHub of the task (collective/op_hub.h).
class CollectiveKernel : public AsyncKernel {
 public:
  ~CollectiveKernel() override;
  void ComputeAsync(KernelContext& ctx, Done done) final;

 protected:
  CollectiveKernel(KernelInit& init, collective::OpKind kind);
  // Fills in what the op's attributes and inputs say: group, instance, size and the tensor.
  virtual Status Prepare(KernelContext& ctx, collective::OpRequest* request) = 0;
  // Looks at the result before it becomes output 0.
  virtual Status Check(const KernelContext& /*ctx*/, const Tensor& /*output*/) const { return OkStatus(); }

 private:
  // Kept by the kernel, which outlives its calls: these may end on a thread of the hub itself.
  StatusOr<collective::OpHub*> FindHub(ResourceManager* resources);

  const collective::OpKind kind_;
  const void* const session_;
  double timeout_seconds_ = 0;
  int64_t together_ = 0, gate_ = 0;  // see OpRequest
  Mutex mu_;
  const ResourceManager* resources_ ABSL_GUARDED_BY(mu_) = nullptr;  // those that hub_ is from
  Ref<collective::OpHub> hub_ ABSL_GUARDED_BY(mu_);
};

// Attributes and traits of all ops that wait for other members.
void CollectiveCall(OpBuilder& op);
// Of ops whose result is made of what all members bring: variables that it updates are updated after all of these.
void ReducesOverGroup(OpBuilder& op);

// Reads a reduction as attributes of TensorFlow's ops name it: 'Add', 'sum', 'Mul', 'prod', 'Min', 'min', ...
StatusOr<collective::ReduceOp> ReduceOpFromName(const std::string& merge_op);
// 'Add' with final op 'Div' is a mean; other combinations with 'Div' are refused.
StatusOr<collective::ReduceOp> WithFinalOp(collective::ReduceOp op, const std::string& final_op);
// A scalar int32 input.
StatusOr<int32_t> ScalarInput(const KernelContext& ctx, int i, const char* name);
// InvalidArgument unless it is positive.
Status CheckGroupSize(int64_t group_size);

// Output 0 as input 0, but for the first dimension: as many rows as all inputs together, or unknown.
Status GatheredShape(ShapeContext& c);
Status UnknownRowsShape(ShapeContext& c);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_COLLECTIVE_COLLECTIVE_KERNEL_H_
