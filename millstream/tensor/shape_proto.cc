// SPDX-License-Identifier: Apache-2.0
#include "millstream/proto/tensor_shape.pb.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {
namespace {

// At most one dimension more than allowed: the checks that follow refuse it, and nobody pays for a million of them.
std::vector<int64_t> DimsOf(const proto::TensorShapeProto& proto) {
  std::vector<int64_t> dims;
  for (const auto& d : proto.dim()) {
    dims.push_back(d.size());
    if (dims.size() > kMaxRank) break;
  }
  return dims;
}

}  // namespace

StatusOr<Shape> ShapeFromProto(const proto::TensorShapeProto& proto) {
  if (proto.unknown_rank()) return errors::InvalidArgument("the shape of a tensor must be known");
  return Shape::Make(DimsOf(proto));
}

StatusOr<PartialShape> PartialShapeFromProto(const proto::TensorShapeProto& proto) {
  if (!proto.unknown_rank()) return PartialShape::Make(DimsOf(proto));
  if (proto.dim_size() > 0) return errors::InvalidArgument("An unknown shape must not have any dimensions set.");
  return PartialShape::Unknown();
}

void ShapeToProto(const Shape& shape, proto::TensorShapeProto* proto) {
  proto->Clear();
  for (const int64_t d : shape.dims()) proto->add_dim()->set_size(d);
}

void ShapeToProto(const PartialShape& shape, proto::TensorShapeProto* proto) {
  proto->Clear();
  if (!shape.rank_known()) proto->set_unknown_rank(true);
  for (const int64_t d : shape.dims()) proto->add_dim()->set_size(d);
}

}  // namespace millstream
