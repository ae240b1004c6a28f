// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_RANDOM_PARAMETERS_H_
#define MILLSTREAM_OPS_RANDOM_PARAMETERS_H_

#include <initializer_list>
#include <vector>

#include "millstream/ops/elements/broadcast.h"
#include "millstream/tensor/tensor.h"

// Parameters of distributions that broadcast against each other.
namespace millstream {

// The numbers of a floating or integer tensor.
std::vector<double> AsDoubles(const Tensor& t);

struct Parameters {
  Shape batch;  // what they broadcast to
  // Parameter number k of element i of the batch.
  double at(int k, int64_t i) const { return values[k][maps[k].Offset(i)]; }

  std::vector<std::vector<double>> values;  // as given
  std::vector<BroadcastMap> maps;
};
// InvalidArgument, beginning with `what`, if they do not broadcast.
StatusOr<Parameters> BroadcastParameters(std::initializer_list<const Tensor*> tensors, absl::string_view what);
// InvalidArgument unless `shape` ends with the dimensions of `batch`.
Status CheckEndsWith(const Shape& shape, const Shape& batch);

}  // namespace millstream

#endif  // MILLSTREAM_OPS_RANDOM_PARAMETERS_H_
