// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_STRINGS_STRING_MAP_H_
#define MILLSTREAM_OPS_STRINGS_STRING_MAP_H_

#include <string>

#include "millstream/framework/op.h"

namespace millstream {

// Output 0 = fn(s) for each string s of input 0, on several threads where there are many; `cost` in nanoseconds.
template <typename R, typename Fn>
Status MapStrings(KernelContext& ctx, double cost, Fn fn) {
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  const std::string* x = in.data<std::string>();
  R* y = out->data<R>();
  ctx.ParallelFor(in.num_elements(), cost, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) y[i] = fn(x[i]);
  });
  return OkStatus();
}

}  // namespace millstream

#endif  // MILLSTREAM_OPS_STRINGS_STRING_MAP_H_
