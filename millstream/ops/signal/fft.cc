// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <complex>
#include <cstring>

#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/signal/fft_plans.h"

namespace millstream {
namespace {

enum class Kind { kComplex, kFromReal, kToReal };

// Copies the corner of each block of `from`, whose last dimensions are `from_sizes`, that has the sizes of a block of
// `to`.
template <typename T>
void CopyCorners(const T* from, std::span<const int64_t> from_sizes, T* to, std::span<const int64_t> to_sizes,
                 int64_t batch) {
  if (to_sizes.empty()) {
    *to = *from;
    return;
  }
  int64_t from_block = 1, to_block = 1;
  for (size_t d = 1; d < to_sizes.size(); ++d) {
    from_block *= from_sizes[d];
    to_block *= to_sizes[d];
  }
  for (int64_t b = 0; b < batch; ++b) {
    if (to_sizes.size() == 1) {
      std::copy_n(from + b * from_sizes[0], to_sizes[0], to + b * to_sizes[0]);
      continue;
    }
    CopyCorners(from + b * from_sizes[0] * from_block, from_sizes.subspan(1), to + b * to_sizes[0] * to_block,
                to_sizes.subspan(1), to_sizes[0]);
  }
}

// Transforms of the last `rank` dimensions: one dimension after the other, each over all lines of all blocks.
template <typename T>
class BlockTransform {
 public:
  using Complex = std::complex<T>;

  // `full` are the sizes of the (real or complex) block that is transformed.
  BlockTransform(FftPlans<T>* plans, std::vector<int64_t> full, int64_t batch, bool inverse, ThreadPool* pool)
      : plans_(plans), full_(std::move(full)), batch_(batch), inverse_(inverse), pool_(pool) {
    if (inverse) {
      for (const int64_t n : full_) scale_ /= static_cast<T>(n);
    }
  }

  void FromComplex(const Complex* in, Complex* out) const {
    const int last = static_cast<int>(full_.size()) - 1;
    Axis(last, in, full_, last == 0 ? scale_ : T(1), out);
    for (int d = last - 1; d >= 0; --d) Axis(d, out, full_, d == 0 ? scale_ : T(1), out);
  }

  // `in_line` is the length of a line of `in`, of which the first elements count.
  void FromReal(const T* in, int64_t in_line, Complex* out) const {
    const std::vector<int64_t> half = Half();
    const int last = static_cast<int>(full_.size()) - 1;
    plans_->Get(full_[last], true)
        ->RunFromReal(in, {.outer_stride = in_line}, out, {.outer_stride = half[last]}, Lines(last, half), pool_);
    for (int d = last - 1; d >= 0; --d) Axis(d, out, half, T(1), out);
  }

  // `work` is what FromReal() gives; it is overwritten if there are several dimensions.
  void ToReal(Complex* work, int64_t in_line, T* out) const {
    const std::vector<int64_t> half = Half();
    const int last = static_cast<int>(full_.size()) - 1;
    for (int d = 0; d < last; ++d) Axis(d, work, half, T(1), work);
    plans_->Get(full_[last], true)
        ->RunToReal(work, {.outer_stride = in_line}, out, {.outer_stride = full_[last]}, Lines(last, half), scale_,
                    pool_);
  }

  // Sizes of the block of complex numbers that stands for a real one.
  std::vector<int64_t> Half() const {
    std::vector<int64_t> half = full_;
    half.back() = half.back() / 2 + 1;
    return half;
  }

 private:
  int64_t Lines(int axis, const std::vector<int64_t>& sizes) const {
    int64_t lines = batch_;
    for (int d = 0; d < static_cast<int>(sizes.size()); ++d) lines *= d == axis ? 1 : sizes[d];
    return lines;
  }
  void Axis(int d, const Complex* in, const std::vector<int64_t>& sizes, T scale, Complex* out) const {
    int64_t inner = 1;
    for (size_t i = static_cast<size_t>(d) + 1; i < sizes.size(); ++i) inner *= sizes[i];
    const math::FftLines lines{.inner = inner, .inner_stride = 1, .outer_stride = inner * sizes[d], .step = inner};
    plans_->Get(sizes[d], false)->Run(in, lines, out, lines, Lines(d, sizes), inverse_, scale, pool_);
  }

  FftPlans<T>* const plans_;
  const std::vector<int64_t> full_;
  const int64_t batch_;
  const bool inverse_;
  ThreadPool* const pool_;
  T scale_ = T(1);
};

template <int rank, Kind kind, bool inverse>
class Fft : public Kernel {
 public:
  explicit Fft(KernelInit& init) {
    const DType in = init.input_types()[0], out = init.output_types()[0];
    const bool doubles = in == DType::kDouble || in == DType::kComplex128;
    if (doubles != (out == DType::kDouble || out == DType::kComplex128)) {
      init.Fail(errors::InvalidArgument("Wrong types for FFT: in=", DTypeName(in), " out=", DTypeName(out)));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() < rank) {
      return errors::InvalidArgument("Input must have rank of at least ", rank, " but got: ", in.shape().ToString());
    }
    const auto in_sizes = in.shape().dims().subspan(in.rank() - rank);
    std::vector<int64_t> full(in_sizes.begin(), in_sizes.end());
    if (kind != Kind::kComplex) RETURN_IF_ERROR(ReadLengths(ctx.input(1), in_sizes, &full));
    std::vector<int64_t> dims(in.shape().dims().begin(), in.shape().dims().end() - rank);
    dims.insert(dims.end(), full.begin(), full.end());
    if (kind == Kind::kFromReal) dims.back() = full.back() == 0 ? 0 : full.back() / 2 + 1;
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    RETURN_IF_ERROR(Shape::Make(full).status());
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0 || in.num_elements() == 0) {
      if (out->num_elements() > 0) std::memset(out->raw(), 0, out->ByteSize());
      return OkStatus();
    }
    const DType type = in.dtype();
    if (type == DType::kFloat || type == DType::kComplex64) return Transform(ctx, in, in_sizes, full, &floats_, out);
    return Transform(ctx, in, in_sizes, full, &doubles_, out);
  }

 private:
  static Status ReadLengths(const Tensor& lengths, std::span<const int64_t> in_sizes, std::vector<int64_t>* full) {
    if (lengths.rank() != 1 || lengths.num_elements() != rank) {
      return errors::InvalidArgument("fft_length must have shape [", rank, "]");
    }
    for (int d = 0; d < rank; ++d) {
      const int64_t n = (*full)[d] = lengths.data<int32_t>()[d];
      if (n < 0) return errors::InvalidArgument("fft_length[", d, "] must >= 0, but got: ", n);
    }
    for (int d = 0; d < rank; ++d) {
      const int64_t n = (*full)[d], needed = kind == Kind::kToReal && d == rank - 1 ? n / 2 + 1 : n;
      if (in_sizes[d] < needed && n > 0) {
        return errors::InvalidArgument("Input dimension ", d, " must have length of at least ", needed,
                                       " but got: ", in_sizes[d]);
      }
    }
    return OkStatus();
  }

  template <typename T>
  static Status Transform(KernelContext& ctx, const Tensor& in, std::span<const int64_t> in_sizes,
                          const std::vector<int64_t>& full, FftPlans<T>* plans, Tensor* out) {
    using Complex = std::complex<T>;
    const int64_t batch = in.num_elements() / in.shape().Product(in.rank() - rank, in.rank());
    const BlockTransform<T> transform(plans, full, batch, inverse, ctx.pool());
    if constexpr (kind == Kind::kComplex) {
      transform.FromComplex(in.data<Complex>(), out->data<Complex>());
      return OkStatus();
    }
    using From = std::conditional_t<kind == Kind::kFromReal, T, Complex>;
    const std::vector<int64_t> used = kind == Kind::kFromReal ? full : transform.Half();
    const From* from = in.data<From>();
    int64_t in_line = in_sizes.back();
    Tensor work;  // lines next to each other; and transforms to real numbers work in place
    if (rank > 1 && (kind == Kind::kToReal || !std::ranges::equal(used, in_sizes))) {
      std::vector<int64_t> dims{batch};
      dims.insert(dims.end(), used.begin(), used.end());
      ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
      ASSIGN_OR_RETURN(work, ctx.AllocateTemp(in.dtype(), shape));
      CopyCorners(from, in_sizes, work.data<From>(), std::span<const int64_t>(used), batch);
      from = work.data<From>();
      in_line = used.back();
    }
    if constexpr (kind == Kind::kFromReal) {
      transform.FromReal(from, in_line, out->data<Complex>());
    } else {
      transform.ToReal(const_cast<Complex*>(from), in_line, out->data<T>());
    }
    return OkStatus();
  }

  FftPlans<float> floats_;
  FftPlans<double> doubles_;
};

template <int rank>
Status ComplexShape(ShapeContext& c) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), rank, &in));
  c.set_output(0, c.input(0));
  return OkStatus();
}
template <int rank, bool forward>
Status RealShape(ShapeContext& c) {
  PartialShape in, lengths;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), rank, &in));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &lengths));
  int64_t unused = 0;
  RETURN_IF_ERROR(ShapeContext::MergeDim(lengths.dim(0), rank, &unused));
  if (!in.rank_known()) return OkStatus();
  std::vector<int64_t> values;
  const bool known = c.ConstantInts(1, &values);
  for (int d = 0; d < rank; ++d) {
    int64_t n = known ? values[d] : -1;
    if (forward && d == rank - 1 && n > 0) n = n / 2 + 1;
    in.set_dim(in.rank() - rank + d, n);
  }
  c.set_output(0, std::move(in));
  return OkStatus();
}

// The number of elements that one transform of `like` covers, as a number of its type.
Output SizeOf(const GradContext& g, Output like, int rank, DType type) {
  const Scope& s = g.scope();
  const Output sizes =
      g.Op("StridedSlice", {g.Op("Shape", {like}), s.Constant({-rank}), s.Constant({0}), s.Constant({1})},
           {{"end_mask", 1}});
  const Output n = g.Op("Prod", {sizes, s.Const<int32_t>(0)});
  const DType real = type == DType::kComplex128 || type == DType::kDouble ? DType::kDouble : DType::kFloat;
  const Output value = g.Op("Cast", {n}, {{"DstT", real}});
  return IsComplex(type) ? g.Op("Cast", {value}, {{"DstT", type}}) : value;
}

template <int rank, bool inverse>
Status ComplexGrad(GradContext& g) {
  const GradMath m(g);
  static const char* const kNames[2][3] = {{"FFT", "FFT2D", "FFT3D"}, {"IFFT", "IFFT2D", "IFFT3D"}};
  const Output dy = g.dy(0), size = SizeOf(g, dy, rank, dy.dtype());
  const Output back = g.Op(kNames[inverse ? 0 : 1][rank - 1], {dy});
  g.set_dx(0, inverse ? m.Div(back, size) : m.Mul(back, size));
  return g.status();
}

// Pads the half spectrum of dy with zeros to the whole; its inverse transform has the gradient as real part.
template <int rank>
Status FromRealGrad(GradContext& g) {
  const GradMath m(g);
  const Output dy = g.dy(0), x = g.input(0);
  const Output grown = m.Sub(g.Op("Shape", {x}), g.Op("Shape", {dy}));
  const Output pads = g.Op("Pack", {m.ZerosLike(grown), grown}, {{"N", 2}, {"axis", 1}});
  const Output whole = g.Op("Pad", {dy, pads});
  const Output back = m.Mul(g.Op(rank == 1 ? "IFFT" : "IFFT2D", {whole}), SizeOf(g, x, rank, dy.dtype()));
  g.set_dx(0, g.Op("Real", {back}, {{"Tout", x.dtype()}}));
  return g.status();
}

// Every element of the half spectrum but the first (and, of even lengths, the last) counts twice.
template <int rank>
Status ToRealGrad(GradContext& g) {
  const GradMath m(g);
  const Scope& s = g.scope();
  const Output dy = g.dy(0), x = g.input(0), lengths = g.input(1), one = s.Const<int32_t>(1);
  const auto last = [&](Output v) {
    return g.Op("StridedSlice", {v, s.Constant({-1}), s.Constant({0}), s.Constant({1})},
                {{"end_mask", 1}, {"shrink_axis_mask", 1}});
  };
  const Output odd = g.Op("FloorMod", {last(lengths), s.Const<int32_t>(2)});
  const Output columns = last(g.Op("Shape", {x}));
  const Output vector = s.Constant({1});
  const auto fill = [&](Output n, double value) {
    return g.Op("Fill", {g.Op("Reshape", {n, vector}), g.ConstLike(dy, value)});
  };
  const Output middle = g.Op("AddV2", {g.Op("Sub", {columns, s.Const<int32_t>(2)}), odd});
  const Output mask = g.Op(
      "ConcatV2", {fill(one, 1), fill(middle, 2), fill(g.Op("Sub", {one, odd}), 1), s.Const<int32_t>(0)}, {{"N", 3}});
  const Output scaled = m.Div(mask, SizeOf(g, dy, rank, dy.dtype()));
  const Output spectrum = g.Op(rank == 1 ? "RFFT" : "RFFT2D", {dy, lengths}, {{"Tcomplex", x.dtype()}});
  g.set_dx(0, m.Mul(spectrum, g.Op("Cast", {scaled}, {{"DstT", x.dtype()}})));
  return g.status();
}

template <int rank, bool inverse>
void ComplexFft(OpBuilder& op) {
  op.Input("input: Tcomplex")
      .Output("output: Tcomplex")
      .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64")
      .Cpu<Fft<rank, Kind::kComplex, inverse>>()
      .Expensive()
      .Shape(ComplexShape<rank>)
      .Gradient(ComplexGrad<rank, inverse>);
}

void RealFftAttrs(OpBuilder& op) {
  op.Input("fft_length: int32")
      .Attr("Treal: {float, double} = DT_FLOAT")
      .Attr("Tcomplex: {complex64, complex128} = DT_COMPLEX64");
}

template <int rank>
void RealFft(OpBuilder& op) {
  op.Input("input: Treal")
      .Output("output: Tcomplex")
      .With(RealFftAttrs)
      .Cpu<Fft<rank, Kind::kFromReal, false>>()
      .HostMemory("fft_length")
      .Expensive()
      .Shape(RealShape<rank, true>);
}

template <int rank>
void InverseRealFft(OpBuilder& op) {
  op.Input("input: Tcomplex")
      .Output("output: Treal")
      .With(RealFftAttrs)
      .Cpu<Fft<rank, Kind::kToReal, true>>()
      .HostMemory("fft_length")
      .Expensive()
      .Shape(RealShape<rank, false>);
}

OP("FFT").With(ComplexFft<1, false>).Doc("Fourier's transform over the last dimension.");
OP("IFFT").With(ComplexFft<1, true>).Doc("The inverse of FFT.");
OP("FFT2D").With(ComplexFft<2, false>).Doc("Fourier's transform over the last two dimensions.");
OP("IFFT2D").With(ComplexFft<2, true>).Doc("The inverse of FFT2D.");
OP("FFT3D").With(ComplexFft<3, false>).Doc("Fourier's transform over the last three dimensions.");
OP("IFFT3D").With(ComplexFft<3, true>).Doc("The inverse of FFT3D.");

OP("RFFT")
    .With(RealFft<1>)
    .Gradient(FromRealGrad<1>)
    .Doc("FFT of real numbers: the non-redundant half of the spectrum.");
OP("RFFT2D")
    .With(RealFft<2>)
    .Gradient(FromRealGrad<2>)
    .Doc("FFT2D of real numbers: the non-redundant half of the spectrum.");
OP("RFFT3D").With(RealFft<3>).Doc("FFT3D of real numbers: the non-redundant half of the spectrum.");
OP("IRFFT").With(InverseRealFft<1>).Gradient(ToRealGrad<1>).Doc("The inverse of RFFT.");
OP("IRFFT2D").With(InverseRealFft<2>).Gradient(ToRealGrad<2>).Doc("The inverse of RFFT2D.");
OP("IRFFT3D").With(InverseRealFft<3>).Doc("The inverse of RFFT3D.");

}  // namespace
}  // namespace millstream
