// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

class DeviceIndex final : public Kernel {
 public:
  explicit DeviceIndex(KernelInit& init) {
    const auto names = init.Attr<std::vector<std::string>>("device_names");
    index_ =
        static_cast<int32_t>(std::find(names.begin(), names.end(), init.device()->attributes().type) - names.begin());
  }
  Status Compute(KernelContext& ctx) override {
    ctx.set_output(0, Tensor::Scalar<int32_t>(index_));
    return OkStatus();
  }

 private:
  int32_t index_ = 0;
};

OP("DeviceIndex")
    .Output("index: int32")
    .Attr("device_names: list(string)")
    .Stateful()
    .Shape(ScalarShape)
    .Cpu<DeviceIndex>()
    .Doc("Index of the device type that the op runs on in a list of types; the list's length if it is absent.");

}  // namespace
}  // namespace millstream
