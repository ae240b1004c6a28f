// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <complex>

#include "millstream/ops/gradients/gradients.h"
#include "millstream/ops/signal/line_transform.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

using Complex = std::complex<double>;

// All lines along axis d of a block of those sizes.
void TransformAxis(std::vector<Complex>* x, std::span<const int64_t> sizes, size_t d, bool inverse) {
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < d; ++i) outer *= sizes[i];
  for (size_t i = d + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const int64_t n = sizes[d];
  const LineTransform line(n, inverse);
  std::vector<Complex> work(static_cast<size_t>(n));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < inner; ++i) {
      Complex* at = x->data() + o * n * inner + i;
      for (int64_t k = 0; k < n; ++k) work[k] = at[k * inner];
      line.Run(work.data());
      for (int64_t k = 0; k < n; ++k) at[k * inner] = work[k];
    }
  }
}

enum class Kind { kComplex, kFromReal, kToReal };

Complex ReadAt(const Tensor& t, int64_t i) {
  switch (t.dtype()) {
    case DType::kFloat:
      return t.data<float>()[i];
    case DType::kDouble:
      return t.data<double>()[i];
    case DType::kComplex64:
      return Complex(t.data<std::complex<float>>()[i]);
    default:
      return t.data<Complex>()[i];
  }
}
void WriteAt(Complex v, Tensor* t, int64_t i) {
  switch (t->dtype()) {
    case DType::kFloat:
      t->data<float>()[i] = static_cast<float>(v.real());
      break;
    case DType::kDouble:
      t->data<double>()[i] = v.real();
      break;
    case DType::kComplex64:
      t->data<std::complex<float>>()[i] = std::complex<float>(v);
      break;
    default:
      t->data<Complex>()[i] = v;
  }
}

// Copies between a block and the same corner of a block of other sizes; what is missing stays zero.
template <typename Visit>
void ForCorner(std::span<const int64_t> a, std::span<const int64_t> b, Visit visit) {
  std::vector<int64_t> at(a.size(), 0);
  for (;;) {
    int64_t i = 0, k = 0;
    for (size_t d = 0; d < a.size(); ++d) {
      i = i * a[d] + at[d];
      k = k * b[d] + at[d];
    }
    visit(i, k);
    size_t d = a.size();
    while (d-- > 0 && ++at[d] == std::min(a[d], b[d])) at[d] = 0;
    if (d == static_cast<size_t>(-1)) return;
  }
}

template <int rank, Kind kind, bool inverse>
class Fft : public Kernel {
 public:
  explicit Fft(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    if (in.rank() < rank) {
      return errors::InvalidArgument("Input must have rank of at least ", rank, " but got: ", in.shape().ToString());
    }
    const auto in_sizes = in.shape().dims().subspan(in.rank() - rank);
    std::vector<int64_t> full(in_sizes.begin(), in_sizes.end());
    if (kind != Kind::kComplex) {
      RETURN_IF_ERROR(ReadLengths(ctx.input(1), &full));
      for (int d = 0; d < rank; ++d) {
        const int64_t needed = kind == Kind::kToReal && d == rank - 1 ? full[d] / 2 + 1 : full[d];
        if (in_sizes[d] < needed && full[d] > 0) {
          return errors::InvalidArgument("Input dimension ", d, " must have length of at least ", needed,
                                         " but got: ", in_sizes[d]);
        }
      }
    }
    std::vector<int64_t> dims(in.shape().dims().begin(), in.shape().dims().end() - rank);
    std::vector<int64_t> out_sizes = full;
    if (kind == Kind::kFromReal) out_sizes.back() = full.back() == 0 ? 0 : full.back() / 2 + 1;
    dims.insert(dims.end(), out_sizes.begin(), out_sizes.end());
    ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
    ASSIGN_OR_RETURN(const Shape block, Shape::Make(full));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    if (shape.num_elements() == 0 || in.num_elements() == 0) {
      for (int64_t i = 0; i < shape.num_elements(); ++i) WriteAt(0, out, i);
      return OkStatus();
    }
    const int64_t in_block = in.shape().Product(in.rank() - rank, in.rank());
    const int64_t batch = in.num_elements() / in_block, out_block = shape.num_elements() / batch;
    ctx.ParallelFor(batch, 60.0 * static_cast<double>(block.num_elements()), [&](int64_t begin, int64_t end) {
      for (int64_t b = begin; b < end; ++b) One(in, b * in_block, in_sizes, full, out, b * out_block, out_sizes);
    });
    return OkStatus();
  }

 private:
  static Status ReadLengths(const Tensor& lengths, std::vector<int64_t>* full) {
    if (lengths.rank() != 1 || lengths.num_elements() != rank) {
      return errors::InvalidArgument("fft_length must have shape [", rank, "]");
    }
    for (int d = 0; d < rank; ++d) {
      (*full)[d] = lengths.data<int32_t>()[d];
      if ((*full)[d] < 0) return errors::InvalidArgument("fft_length[", d, "] must >= 0, but got: ", (*full)[d]);
    }
    return OkStatus();
  }

  static void One(const Tensor& in, int64_t from, std::span<const int64_t> in_sizes, const std::vector<int64_t>& full,
                  Tensor* out, int64_t to, const std::vector<int64_t>& out_sizes) {
    int64_t n = 1;
    for (const int64_t d : full) n *= d;
    std::vector<Complex> x(static_cast<size_t>(n), Complex());
    std::vector<int64_t> used = full;
    if (kind == Kind::kToReal) used.back() = full.back() / 2 + 1;
    ForCorner(in_sizes, full, [&](int64_t i, int64_t k) {
      if (k % full.back() < used.back()) x[k] = ReadAt(in, from + i);
    });
    // Half of the spectrum stands for all of it; the other axes come first, on that half.
    for (size_t d = 0; d + 1 < full.size(); ++d) TransformAxis(&x, full, d, inverse);
    if (kind == Kind::kToReal) Mirror(full.back(), &x);
    TransformAxis(&x, full, full.size() - 1, inverse);
    const double scale = inverse ? 1.0 / static_cast<double>(n) : 1.0;
    ForCorner(out_sizes, full, [&](int64_t i, int64_t k) { WriteAt(x[k] * scale, out, to + i); });
  }

  // x[n - k] = conj(x[k]) on each line.
  static void Mirror(int64_t n, std::vector<Complex>* x) {
    for (size_t line = 0; line < x->size(); line += static_cast<size_t>(n)) {
      Complex* at = x->data() + line;
      at[0] = at[0].real();
      for (int64_t k = 1; k < n - k; ++k) at[n - k] = std::conj(at[k]);
      if (n % 2 == 0) at[n / 2] = at[n / 2].real();
    }
  }
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
    .Doc("FFT of real numbers: the half of the spectrum that says all.");
OP("RFFT2D")
    .With(RealFft<2>)
    .Gradient(FromRealGrad<2>)
    .Doc("FFT2D of real numbers: the half of the spectrum that says all.");
OP("RFFT3D").With(RealFft<3>).Doc("FFT3D of real numbers: the half of the spectrum that says all.");
OP("IRFFT").With(InverseRealFft<1>).Gradient(ToRealGrad<1>).Doc("The inverse of RFFT.");
OP("IRFFT2D").With(InverseRealFft<2>).Gradient(ToRealGrad<2>).Doc("The inverse of RFFT2D.");
OP("IRFFT3D").With(InverseRealFft<3>).Doc("The inverse of RFFT3D.");

}  // namespace
}  // namespace millstream
