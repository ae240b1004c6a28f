// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "millstream/framework/op.h"
#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/random/random.h"

// Graham, "Fractional Max-Pooling" (2014): pools over regions whose sizes differ by one and are laid out at random, so
// that the output may be smaller by any factor.
namespace millstream {
namespace {

using math::Philox;
using Sequence = std::vector<int64_t>;  // where regions begin, and the end

// The sizes of regions in random order.
Sequence ShuffledSizes(int64_t input, int64_t output, Philox* philox) {
  Sequence sizes(static_cast<size_t>(output), input / output);
  for (int64_t i = 0; i < input % output; ++i) ++sizes[i];
  math::PhiloxSampler sampler(*philox);
  philox->Skip(static_cast<uint64_t>((output + 3) / 4));
  for (int64_t i = 0; i + 1 < output; ++i) {
    std::swap(sizes[i], sizes[i + sampler.Next() % static_cast<uint32_t>(output - i)]);
  }
  return sizes;
}

// Sizes from places at even distances, all moved by one random amount: as much as keeps the sizes within one of each
// other at both ends.
Sequence EvenSizes(int64_t input, int64_t output, Philox* philox) {
  const double alpha = static_cast<double>(input) / static_cast<double>(output);
  const int64_t smallest = input / output;
  const double at_front = static_cast<double>(smallest + 2) / alpha - 1;
  const double at_end = static_cast<double>(input + 1 - smallest) / alpha - static_cast<double>(output - 1);
  math::PhiloxSampler sampler(*philox);
  philox->Skip(1);
  const uint32_t high = sampler.Next(), low = sampler.Next();
  const double u = math::random_internal::ToDouble(high, low) * std::min(at_front, at_end);
  Sequence sizes;
  int64_t last = 1;
  for (int64_t i = 1; i <= output; ++i) {
    const int64_t place =
        i == output ? input + 1 : static_cast<int64_t>(std::ceil(alpha * (static_cast<double>(i) + u)));
    sizes.push_back(place - last);
    last = place;
  }
  return sizes;
}

Sequence MakeSequence(int64_t input, int64_t output, bool pseudo_random, Philox* philox) {
  const Sequence sizes = pseudo_random ? EvenSizes(input, output, philox) : ShuffledSizes(input, output, philox);
  Sequence sequence = {0};
  for (const int64_t size : sizes) sequence.push_back(sequence.back() + size);
  return sequence;
}

// The cells of region `i`: [first, second). Overlapping regions share the cell at their border.
std::pair<int64_t, int64_t> Cells(const Sequence& s, int64_t i, bool overlapping, int64_t size) {
  return {s[i], std::min(s[i + 1] + (overlapping ? 1 : 0), size)};
}

// Calls fn(output pixel, input pixel) for all pixels of all regions, region by region; pixels are numbers of vectors.
struct Regions {
  int64_t batch, rows, cols;
  Sequence down, across;
  bool overlapping;

  int64_t out_rows() const { return static_cast<int64_t>(down.size()) - 1; }
  int64_t out_cols() const { return static_cast<int64_t>(across.size()) - 1; }
  template <typename Fn>
  void ForEach(Fn fn) const {
    int64_t out = 0;
    for (int64_t b = 0; b < batch; ++b) {
      for (int64_t r = 0; r < out_rows(); ++r) {
        const auto [top, bottom] = Cells(down, r, overlapping, rows);
        for (int64_t c = 0; c < out_cols(); ++c, ++out) {
          const auto [left, right] = Cells(across, c, overlapping, cols);
          for (int64_t h = top; h < bottom; ++h) {
            for (int64_t w = left; w < right; ++w) fn(out, (b * rows + h) * cols + w);
          }
        }
      }
    }
  }
};

// A sequence that a gradient gets as an input. InvalidArgument unless it divides [0, size) into `regions`.
StatusOr<Sequence> ReadSequence(const Tensor& t, const char* name, int64_t regions, int64_t size) {
  const Sequence s(t.data<int64_t>(), t.data<int64_t>() + t.num_elements());
  if (std::ranges::any_of(s, [](int64_t v) { return v < 0; })) {
    return errors::InvalidArgument(name, " sequence tensor values must not be negative, got ", t.SummarizeValue(20));
  }
  if (t.rank() != 1 || t.dim(0) != regions + 1) {
    return errors::InvalidArgument(name, " sequence must be a vector of ", regions + 1, " elements, received shape ",
                                   t.shape().ToString());
  }
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] > size || (i > 0 && s[i] <= s[i - 1])) {
      return errors::InvalidArgument(name, " sequence must grow and stay in [0, ", size, "], got ",
                                     t.SummarizeValue(20));
    }
  }
  return s;
}

// kMax or the average.
template <typename T, bool kMax>
class FractionalPool : public Kernel {
 public:
  explicit FractionalPool(KernelInit& init)
      : ratio_(init.Attr<std::vector<float>>("pooling_ratio")),
        pseudo_random_(init.Attr<bool>("pseudo_random")),
        overlapping_(init.Attr<bool>("overlapping")),
        deterministic_(init.Attr<bool>("deterministic")),
        seed_(init.Attr<int64_t>("seed")),
        seed2_(init.Attr<int64_t>("seed2")),
        philox_(math::PhiloxStream(seed_, seed2_).Reserve(0)) {
    if (ratio_.size() != 4) {
      init.Fail(errors::InvalidArgument("pooling_ratio field must specify 4 dimensions"));
      return;
    }
    for (const float r : ratio_) {
      if (!(r >= 1)) init.Fail(errors::InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", r));
    }
    if (ratio_[0] != 1 || ratio_[3] != 1) {
      init.Fail(errors::Unimplemented("Fractional pooling is not yet supported on the batch nor channel dimension."));
    }
    if (!deterministic_ && (seed_ != 0 || seed2_ != 0)) {
      init.Fail(errors::InvalidArgument("Both seed and seed2 should be 0 if deterministic is false."));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() != 4) return errors::InvalidArgument("tensor_in must be 4-dimensional");
    std::vector<int64_t> dims;
    for (int i = 0; i < 4; ++i) {
      if (static_cast<double>(in.dim(i)) < ratio_[i] || in.dim(i) > std::numeric_limits<int32_t>::max()) {
        return errors::InvalidArgument("Pooling ratio is higher than input dimension size for dimension ", i,
                                       ". Input dim size: ", in.dim(i), " pooling ratio: ", ratio_[i]);
      }
      dims.push_back(static_cast<int64_t>(std::floor(static_cast<float>(in.dim(i)) / ratio_[i])));
    }
    Philox philox = deterministic_ ? philox_ : math::PhiloxStream(0, 0).Reserve(0);
    Regions regions{in.dim(0), in.dim(1), in.dim(2), {}, {}, overlapping_};
    regions.down = MakeSequence(in.dim(1), dims[1], pseudo_random_, &philox);
    regions.across = MakeSequence(in.dim(2), dims[2], pseudo_random_, &philox);
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    ctx.set_output(1, Tensor::Vector(regions.down));
    ctx.set_output(2, Tensor::Vector(regions.across));
    Pool(regions, in.dim(3), in.data<T>(), out);
    return OkStatus();
  }

 private:
  static void Pool(const Regions& regions, int64_t depth, const T* in, Tensor* out) {
    T* y = out->data<T>();
    std::fill_n(y, out->num_elements(), kMax ? std::numeric_limits<T>::lowest() : T(0));
    std::vector<int64_t> counts(static_cast<size_t>(out->num_elements() / depth));
    regions.ForEach([&](int64_t to, int64_t from) {
      ++counts[to];
      for (int64_t d = 0; d < depth; ++d) {
        T& value = y[to * depth + d];
        const T x = in[from * depth + d];
        if constexpr (kMax)
          value = std::max(value, x);
        else
          value += x;
      }
    });
    if constexpr (!kMax) {
      for (int64_t i = 0; i < out->num_elements(); ++i) y[i] /= static_cast<T>(counts[i / depth]);
    }
  }

  const std::vector<float> ratio_;
  const bool pseudo_random_, overlapping_, deterministic_;
  const int64_t seed_, seed2_;
  const Philox philox_;
};
template <typename T>
class FractionalMaxPool final : public FractionalPool<T, true> {
 public:
  using FractionalPool<T, true>::FractionalPool;
};
template <typename T>
class FractionalAvgPool final : public FractionalPool<T, false> {
 public:
  using FractionalPool<T, false>::FractionalPool;
};

// What arrives at an output goes to the first of its region's largest values.
template <typename T>
class FractionalMaxPoolGrad final : public Kernel {
 public:
  explicit FractionalMaxPoolGrad(KernelInit& init) : overlapping_(init.Attr<bool>("overlapping")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &out = ctx.input(1), &dy = ctx.input(2);
    if (in.rank() != 4 || in.num_elements() == 0 || out.rank() != 4 || out.num_elements() == 0) {
      return errors::InvalidArgument("orig_input and orig_output should be tensors of rank 4 with elements, got ",
                                     in.shape().ToString(), " and ", out.shape().ToString());
    }
    if (!(dy.shape() == out.shape()) || out.dim(0) != in.dim(0) || out.dim(3) != in.dim(3)) {
      return errors::InvalidArgument("out_backprop has the wrong shape: ", dy.shape().ToString());
    }
    Regions regions{in.dim(0), in.dim(1), in.dim(2), {}, {}, overlapping_};
    ASSIGN_OR_RETURN(regions.down, ReadSequence(ctx.input(3), "Row", out.dim(1), in.dim(1)));
    ASSIGN_OR_RETURN(regions.across, ReadSequence(ctx.input(4), "Column", out.dim(2), in.dim(2)));
    const int64_t depth = in.dim(3);
    const T* x = in.data<T>();
    std::vector<int64_t> best(static_cast<size_t>(out.num_elements()), -1);
    regions.ForEach([&](int64_t to, int64_t from) {
      for (int64_t d = 0; d < depth; ++d) {
        int64_t& b = best[to * depth + d];
        if (b < 0 || x[b] < x[from * depth + d]) b = from * depth + d;
      }
    });
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, in.shape()));
    std::fill_n(dx->data<T>(), dx->num_elements(), T(0));
    for (size_t i = 0; i < best.size(); ++i) {
      if (best[i] < 0 || x[best[i]] != out.data<T>()[i]) {
        return errors::InvalidArgument("orig_output is not what orig_input and the sequences give");
      }
      dx->data<T>()[best[i]] += dy.data<T>()[i];
    }
    return OkStatus();
  }

 private:
  const bool overlapping_;
};

// What arrives at an output is divided among the cells of its region.
template <typename T>
class FractionalAvgPoolGrad final : public Kernel {
 public:
  explicit FractionalAvgPoolGrad(KernelInit& init) : overlapping_(init.Attr<bool>("overlapping")) {}
  Status Compute(KernelContext& ctx) override {
    const Tensor &sizes = ctx.input(0), &dy = ctx.input(1);
    if (sizes.rank() != 1 || sizes.dim(0) != 4) {
      return errors::InvalidArgument("original input tensor shape must be 1-dimensional and 4 elements");
    }
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(sizes.flat<int64_t>()));
    if (dy.rank() != 4) return errors::InvalidArgument("out_backprop must be 4-dimensional");
    Regions regions{shape.dim(0), shape.dim(1), shape.dim(2), {}, {}, overlapping_};
    ASSIGN_OR_RETURN(regions.down, ReadSequence(ctx.input(2), "Row", dy.dim(1), shape.dim(1)));
    ASSIGN_OR_RETURN(regions.across, ReadSequence(ctx.input(3), "Column", dy.dim(2), shape.dim(2)));
    if (shape.num_elements() == 0 || dy.num_elements() == 0 || dy.dim(0) != shape.dim(0) || dy.dim(3) != shape.dim(3)) {
      return errors::InvalidArgument("out_backprop ", dy.shape().ToString(), " does not fit the input's shape ",
                                     shape.ToString());
    }
    const int64_t depth = shape.dim(3);
    std::vector<int64_t> counts(static_cast<size_t>(dy.num_elements() / depth));
    regions.ForEach([&](int64_t to, int64_t) { ++counts[to]; });
    std::vector<double> sums(static_cast<size_t>(shape.num_elements()));
    const T* g = dy.data<T>();
    regions.ForEach([&](int64_t to, int64_t from) {
      for (int64_t d = 0; d < depth; ++d) {
        sums[from * depth + d] += static_cast<double>(g[to * depth + d]) / static_cast<double>(counts[to]);
      }
    });
    ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, shape));
    std::transform(sums.begin(), sums.end(), dx->data<T>(), [](double v) { return static_cast<T>(v); });
    return OkStatus();
  }

 private:
  const bool overlapping_;
};

Status PoolShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  std::vector<float> ratio;
  RETURN_IF_ERROR(c.GetAttr("pooling_ratio", &ratio));
  if (ratio.size() != 4) return errors::InvalidArgument("pooling_ratio field must specify 4 dimensions");
  for (int i = 0; i < 4; ++i) {
    if (!(ratio[i] >= 1)) return errors::InvalidArgument("pooling_ratio cannot be smaller than 1, got: ", ratio[i]);
    if (in.dim(i) < 0) continue;
    in.set_dim(i, static_cast<int64_t>(std::floor(static_cast<float>(in.dim(i)) / ratio[i])));
  }
  c.set_output(1, PartialShape({in.dim(1) < 0 ? -1 : in.dim(1) + 1}));
  c.set_output(2, PartialShape({in.dim(2) < 0 ? -1 : in.dim(2) + 1}));
  c.set_output(0, std::move(in));
  return OkStatus();
}

Status MaxGradShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 4, &in));
  c.set_output(0, std::move(in));
  return OkStatus();
}

Status AvgGradShape(ShapeContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, c.ConstantAsShape(0));
  if (!shape.rank_known()) shape = PartialShape::UnknownOfRank(4);
  c.set_output(0, std::move(shape));
  return OkStatus();
}

Status MaxGradient(GradContext& g) {
  g.set_dx(0, g.Op("FractionalMaxPoolGrad", {g.input(0), g.output(0), g.dy(0), g.output(1), g.output(2)},
                   {{"overlapping", g.Attr<bool>("overlapping")}}));
  return g.status();
}

Status AvgGradient(GradContext& g) {
  const Output shape = g.Op("Shape", {g.input(0)}, {{"out_type", DType::kInt64}});
  g.set_dx(0, g.Op("FractionalAvgPoolGrad", {shape, g.dy(0), g.output(1), g.output(2)},
                   {{"overlapping", g.Attr<bool>("overlapping")}}));
  return g.status();
}

using PoolTypes = Types<float, double, int32_t, int64_t>;
void FractionalPoolArgs(OpBuilder& op) {
  op.Input("value: T")
      .Output("output: T")
      .Output("row_pooling_sequence: int64")
      .Output("col_pooling_sequence: int64")
      .Attr("pooling_ratio: list(float) >= 4")
      .Attr("pseudo_random: bool = false")
      .Attr("overlapping: bool = false")
      .Attr("deterministic: bool = false")
      .Attr("seed: int = 0")
      .Attr("seed2: int = 0")
      .Attr("T: {float, double, int32, int64}")
      .Shape(PoolShape);
}

OP("FractionalMaxPool")
    .With(FractionalPoolArgs)
    .Gradient(MaxGradient)
    .Cpu<FractionalMaxPool>(PoolTypes{})
    .Doc("The largest values of regions whose sizes make the output smaller by a factor that need not be whole.");
OP("FractionalAvgPool")
    .With(FractionalPoolArgs)
    .Gradient(AvgGradient)
    .Cpu<FractionalAvgPool>(PoolTypes{})
    .Doc("The averages of regions whose sizes make the output smaller by a factor that need not be whole.");

OP("FractionalMaxPoolGrad")
    .Input("orig_input: T")
    .Input("orig_output: T")
    .Input("out_backprop: T")
    .Input("row_pooling_sequence: int64")
    .Input("col_pooling_sequence: int64")
    .Output("output: T")
    .Attr("overlapping: bool = false")
    .Attr("T: {float, double, int32, int64}")
    .Shape(MaxGradShape)
    .Cpu<FractionalMaxPoolGrad>(PoolTypes{})
    .Doc("The gradient of FractionalMaxPool.");
OP("FractionalAvgPoolGrad")
    .Input("orig_input_tensor_shape: int64")
    .Input("out_backprop: T")
    .Input("row_pooling_sequence: int64")
    .Input("col_pooling_sequence: int64")
    .Output("output: T")
    .Attr("overlapping: bool = false")
    .Attr("T: {float, double, int32, int64}")
    .Shape(AvgGradShape)
    .Cpu<FractionalAvgPoolGrad>(PoolTypes{})
    .Doc("The gradient of FractionalAvgPool.");

}  // namespace
}  // namespace millstream
