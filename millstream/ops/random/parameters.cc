// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/random/parameters.h"

#include "absl/strings/str_cat.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {

std::vector<double> AsDoubles(const Tensor& t) {
  std::vector<double> wide;
  wide.reserve(static_cast<size_t>(t.num_elements()));
  DispatchOver(RealTypes{}, t.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    for (const T v : t.flat<T>()) wide.push_back(static_cast<double>(static_cast<Compute<T>>(v)));
  });
  return wide;
}

StatusOr<Parameters> BroadcastParameters(std::initializer_list<const Tensor*> tensors, absl::string_view what) {
  Parameters out;
  for (const Tensor* t : tensors) {
    auto joined = BroadcastShapes(out.batch, t->shape());
    if (!joined.ok()) {
      std::string shapes;
      for (const Tensor* p : tensors) absl::StrAppend(&shapes, shapes.empty() ? "" : " vs. ", p->shape().ToString());
      return errors::InvalidArgument(what, " must have compatible batch dimensions: ", shapes);
    }
    out.batch = *std::move(joined);
  }
  for (const Tensor* t : tensors) {
    out.values.push_back(AsDoubles(*t));
    out.maps.emplace_back(t->shape(), out.batch);
  }
  return out;
}

Status CheckEndsWith(const Shape& shape, const Shape& batch) {
  const int extra = shape.rank() - batch.rank();
  bool ends = extra >= 0;
  for (int d = 0; ends && d < batch.rank(); ++d) ends = batch.dim(d) == shape.dim(extra + d);
  return ends ? OkStatus() : errors::InvalidArgument("Shape passed in must end with broadcasted shape.");
}

}  // namespace millstream
