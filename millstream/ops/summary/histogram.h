// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_SUMMARY_HISTOGRAM_H_
#define MILLSTREAM_OPS_SUMMARY_HISTOGRAM_H_

#include <cfloat>
#include <vector>

namespace millstream {

namespace proto {
class HistogramProto;
}  // namespace proto

// How values are distributed over buckets as TensorBoard knows them: their ends are powers of 1.1 on both sides of
// zero.
class Histogram {
 public:
  Histogram();
  // REQUIRES: a finite number.
  void Add(double value);
  // A run of empty buckets becomes one.
  void Write(proto::HistogramProto* out) const;

 private:
  std::vector<double> counts_;
  double min_ = DBL_MAX, max_ = -DBL_MAX, num_ = 0, sum_ = 0, sum_squares_ = 0;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_SUMMARY_HISTOGRAM_H_
