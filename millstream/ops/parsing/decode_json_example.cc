// SPDX-License-Identifier: Apache-2.0
#include "google/protobuf/util/json_util.h"
#include "millstream/framework/op.h"
#include "millstream/proto/example.pb.h"

namespace millstream {
namespace {

Status DecodeJsonExampleCpu(KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
  for (int64_t i = 0; i < in.num_elements(); ++i) {
    proto::Example example;
    const auto parsed = google::protobuf::util::JsonStringToMessage(in.data<std::string>()[i], &example);
    if (!parsed.ok()) {
      return errors::InvalidArgument("Error while parsing JSON: ", std::string(parsed.message()));
    }
    if (!example.SerializeToString(&out->data<std::string>()[i])) {
      return errors::InvalidArgument("The example is too large to be serialized");
    }
  }
  return OkStatus();
}

OP("DecodeJSONExample")
    .Input("json_examples: string")
    .Output("binary_examples: string")
    .Shape(UnchangedShape)
    .Cpu(DecodeJsonExampleCpu)
    .Doc("Examples written as JSON, as serialized messages.");

}  // namespace
}  // namespace millstream
