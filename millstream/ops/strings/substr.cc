// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "millstream/framework/op.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/strings/utf8.h"

namespace millstream {
namespace {

// The byte at which character `n` begins; the size if there are just n characters, npos if fewer.
size_t CharacterStart(absl::string_view s, int64_t n) {
  for (size_t at = 0; at < s.size(); ++at) {
    if (!IsUtf8Trail(s[at]) && n-- == 0) return at;
  }
  return n == 0 ? s.size() : absl::string_view::npos;
}

class Substr : public Kernel {
 public:
  explicit Substr(KernelInit& init) : characters_(init.Attr<std::string>("unit") == "UTF8_CHAR") {}

  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &pos = ctx.input(1), &len = ctx.input(2);
    if (!(pos.shape() == len.shape())) {
      return errors::InvalidArgument("pos and len should have the same shape, got: ", pos.shape().ToString(), " vs. ",
                                     len.shape().ToString());
    }
    Dims positions, lengths;
    RETURN_IF_ERROR(ReadInts(pos, &positions));
    RETURN_IF_ERROR(ReadInts(len, &lengths));
    ASSIGN_OR_RETURN(const Shape shape, BroadcastShapes(in.shape(), pos.shape()));
    if (pos.rank() > 0 && !(in.shape() == pos.shape()) && shape.rank() > 2) {
      return errors::Unimplemented("Substr broadcast not implemented for ", shape.rank(), " dimensions");
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return OkStatus();
    if (pos.rank() == 0) {
      const std::string* from = in.data<std::string>();
      std::string* to = out->data<std::string>();
      for (int64_t i = 0; i < shape.num_elements(); ++i) {
        RETURN_IF_ERROR(Cut(from[i], positions[0], lengths[0], i, to + i));
      }
      return OkStatus();
    }
    const BroadcastMap in_map(in.shape(), shape), pos_map(pos.shape(), shape);
    for (int64_t i = 0; i < shape.num_elements(); ++i) {
      const int64_t at = in_map.Offset(i), p = pos_map.Offset(i);
      RETURN_IF_ERROR(Cut(in.data<std::string>()[at], positions[p], lengths[p], i, &out->data<std::string>()[i]));
    }
    return OkStatus();
  }

 private:
  Status Cut(absl::string_view s, int64_t pos, int64_t len, int64_t i, std::string* out) const {
    const int64_t size = characters_ ? Utf8Length(s) : static_cast<int64_t>(s.size());
    if (pos > size || pos < -size) {
      const std::string text = characters_ ? "" : absl::StrCat(" b'", s, "'");
      return errors::InvalidArgument("pos ", pos, " out of range for string", text, " at index ", i);
    }
    const int64_t begin = pos < 0 ? pos + size : pos;
    const int64_t n = std::min(std::max<int64_t>(len, 0), size - begin);
    if (!characters_) {
      out->assign(s.data() + begin, static_cast<size_t>(n));
    } else {
      const size_t first = CharacterStart(s, begin);
      const absl::string_view rest = first == absl::string_view::npos ? "" : s.substr(first);
      *out = std::string(rest.substr(0, CharacterStart(rest, n)));
    }
    return OkStatus();
  }

  const bool characters_;
};

Status SubstrShape(ShapeContext& c) {
  const PartialShape &pos = c.input(1), &len = c.input(2);
  if (pos.rank_known() && len.rank_known() && pos.rank() != len.rank()) {
    return errors::InvalidArgument("pos and len must have the same rank");
  }
  RETURN_IF_ERROR(pos.MergeWith(len).status());
  ASSIGN_OR_RETURN(PartialShape out, ShapeContext::Broadcast(c.input(0), pos));
  c.set_output(0, std::move(out));
  return OkStatus();
}

OP("Substr")
    .Input("input: string")
    .Input("pos: T")
    .Input("len: T")
    .Output("output: string")
    .Attr("T: {int32, int64}")
    .Attr("unit: {'BYTE', 'UTF8_CHAR'} = 'BYTE'")
    .Shape(SubstrShape)
    .Cpu<Substr>()
    .Doc("Parts of strings, from a position on and of a length; positions below 0 count from the end.");

}  // namespace
}  // namespace millstream
