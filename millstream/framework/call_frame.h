// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_CALL_FRAME_H_
#define MILLSTREAM_FRAMEWORK_CALL_FRAME_H_

#include <utility>
#include <vector>

#include "millstream/tensor/tensor.h"

namespace millstream {

// Arguments and results of one run of a function body: what its _Arg nodes read and its _Retval nodes write. Different
// results may be written at the same time, from any threads; an argument is read by one node only, which takes it.
class CallFrame {
 public:
  CallFrame(std::vector<Tensor> args, size_t num_rets) : args_(std::move(args)), rets_(num_rets) {}

  int num_args() const { return static_cast<int>(args_.size()); }
  int num_rets() const { return static_cast<int>(rets_.size()); }
  const Tensor& arg(int i) const { return args_[i]; }
  // The frame keeps nothing, so that whoever uses it last may write into its buffer.
  Tensor TakeArg(int i) { return std::move(args_[i]); }
  void set_ret(int i, Tensor value) { rets_[i] = std::move(value); }
  // REQUIRES: the body has finished.
  std::vector<Tensor> TakeRets() { return std::move(rets_); }

 private:
  std::vector<Tensor> args_;
  std::vector<Tensor> rets_;
};

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_CALL_FRAME_H_
