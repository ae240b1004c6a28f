// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_
#define MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_

#include "millstream/framework/kernel.h"

namespace millstream {

namespace proto {
class Summary;
class Summary_Value;
}  // namespace proto

// Sets output 0 to the serialized summary.
Status OutputSummary(KernelContext& ctx, const proto::Summary& summary);

// Sets the tensor of a value, in the form that readers of summaries expect.
Status SetSummaryTensor(const Tensor& tensor, proto::Summary_Value* value);

// What summary ops and writers of event files add. InvalidArgument for tensors that cannot be shown so.
//
// The distribution of `values`; `who` is named in errors.
Status AddHistogram(const std::string& tag, const Tensor& values, absl::string_view who, proto::Summary* summary);
// The first `max_images` of a batch as PNG files; pixels that are not finite get `bad_color`.
Status AddImages(const std::string& tag, const Tensor& images, int64_t max_images,
                 const std::vector<uint8_t>& bad_color, proto::Summary* summary);
// The first `max_outputs` of a batch [batch, frames (, channels)] as WAV files.
Status AddAudio(const std::string& tag, const Tensor& audio, int64_t max_outputs, float rate, proto::Summary* summary);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SUMMARY_SUMMARY_OUTPUT_H_
