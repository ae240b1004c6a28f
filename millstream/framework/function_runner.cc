// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/function_runner.h"

#include "millstream/base/notification.h"

namespace millstream {

Status FunctionRunner::Run(const CompiledFunction& function, const StepContext& step, std::vector<Tensor> args,
                           std::vector<Tensor>* rets) {
  Notification finished;
  Status result;
  RunAsync(function, step, std::move(args), rets, [&](Status status) {
    result = std::move(status);
    finished.Notify();
  });
  finished.Wait();
  return result;
}

}  // namespace millstream
