// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "millstream/framework/op.h"

// Moving sizes and axes from one data format to another.
namespace millstream {
namespace {

// Two names of the same dimensions in different order, checked.
class Formats {
 public:
  explicit Formats(KernelInit& init)
      : from_(init.Attr<std::string>("src_format")), to_(init.Attr<std::string>("dst_format")) {
    if (from_.size() != 4 && from_.size() != 5) {
      init.Fail(errors::InvalidArgument("Source format must be of length 4 or 5, received src_format = ", from_));
    }
    if (to_.size() != 4 && to_.size() != 5) {
      init.Fail(errors::InvalidArgument("Destination format must be of length 4 or 5, received dst_format = ", to_));
    }
    std::string a = from_, b = to_;
    std::sort(a.begin(), a.end());
    std::sort(b.begin(), b.end());
    if (a != b || std::adjacent_find(a.begin(), a.end()) != a.end()) {
      init.Fail(errors::InvalidArgument("Destination and source format must determine a permutation, got ", from_,
                                        " and ", to_));
    }
  }
  const std::string& from() const { return from_; }
  const std::string& to() const { return to_; }

 private:
  const std::string from_, to_;
};

template <typename T>
class DataFormatDimMap final : public Kernel {
 public:
  explicit DataFormatDimMap(KernelInit& init) : formats_(init) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
    const auto rank = static_cast<T>(formats_.from().size());
    const T* x = ctx.input(0).data<T>();
    for (int64_t i = 0; i < out->num_elements(); ++i) {
      const T axis = x[i] < 0 ? x[i] + rank : x[i];
      if (axis < 0 || axis >= rank) {
        return errors::InvalidArgument("Axis ", x[i], " is not in [", -rank, ", ", rank, ")");
      }
      out->data<T>()[i] = static_cast<T>(formats_.to().find(formats_.from()[axis]));
    }
    return OkStatus();
  }

 private:
  const Formats formats_;
};

std::string SpatialOnly(std::string format, bool volume) {
  std::erase_if(format, [volume](char c) { return c != 'H' && c != 'W' && !(volume && c == 'D'); });
  return format;
}

template <typename T>
class DataFormatVecPermute final : public Kernel {
 public:
  explicit DataFormatVecPermute(KernelInit& init) : formats_(init) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 1 && in.rank() != 2) {
      return errors::InvalidArgument("input must be a vector or 2D tensor, but got shape ", in.shape().ToString());
    }
    std::string from = formats_.from(), to = formats_.to();
    const auto full = static_cast<int64_t>(from.size()), spatial = full - 2;
    if (in.dim(0) != full && in.dim(0) != spatial) {
      return errors::InvalidArgument(in.rank() == 1 ? "1D input" : "First dimension of 2D input", " must be of size ",
                                     spatial, " or ", full, ", but got shape ", in.shape().ToString());
    }
    if (in.rank() == 2 && in.dim(1) != 2) {
      return errors::InvalidArgument("Second dimension of 2D input must be of size 2, but got shape ",
                                     in.shape().ToString());
    }
    if (in.dim(0) == spatial) {
      from = SpatialOnly(from, spatial == 3);
      to = SpatialOnly(to, spatial == 3);
      if (static_cast<int64_t>(from.size()) != spatial) {
        return errors::InvalidArgument("Format specifier must contain ", spatial == 3 ? "D, H" : "H",
                                       " and W for 2D case");
      }
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, in.shape()));
    const int64_t width = in.rank() == 2 ? 2 : 1;
    for (size_t i = 0; i < from.size(); ++i) {
      std::copy_n(in.data<T>() + static_cast<int64_t>(i) * width, width,
                  out->data<T>() + static_cast<int64_t>(to.find(from[i])) * width);
    }
    return OkStatus();
  }

 private:
  const Formats formats_;
};

void FormatAttrs(OpBuilder& op) {
  op.Input("x: T")
      .Output("y: T")
      .Attr("T: {int32, int64} = DT_INT32")
      .Attr("src_format: string = 'NHWC'")
      .Attr("dst_format: string = 'NCHW'")
      .Shape(UnchangedShape);
}

OP("DataFormatDimMap")
    .With(FormatAttrs)
    .Cpu<DataFormatDimMap>(IndexTypes{})
    .Doc("The axes of another data format for axes of one.");

OP("DataFormatVecPermute")
    .With(FormatAttrs)
    .Cpu<DataFormatVecPermute>(IndexTypes{})
    .Doc("Sizes (or pairs of paddings) of one data format in the order of another.");

}  // namespace
}  // namespace millstream
