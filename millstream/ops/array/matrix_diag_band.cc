// SPDX-License-Identifier: Apache-2.0
// MatrixDiag, MatrixDiagPart and MatrixSetDiag, V2 and V3: several diagonals at once, as lines of a matrix.
#include <algorithm>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/elements/blob.h"

namespace millstream {
namespace {

// Diagonals lower ... upper of rows x cols matrices. As lines they are stored from the upper one down, each in
// `length` elements; shorter ones sit at the left or right of theirs.
struct Band {
  int64_t lower = 0, upper = 0;
  bool left_super = true, left_sub = true;
  int64_t rows = 0, cols = 0, length = 0;

  int64_t count() const { return upper - lower + 1; }
  static int64_t MaxLength(int64_t rows, int64_t cols, int64_t lower, int64_t upper) {
    return std::min(rows + std::min<int64_t>(upper, 0), cols - std::max<int64_t>(lower, 0));
  }
  int64_t LengthOf(int64_t d) const { return std::min(rows + std::min<int64_t>(d, 0), cols - std::max<int64_t>(d, 0)); }
  int64_t OffsetOf(int64_t d) const {
    const bool left = (d >= 0 && left_super) || (d <= 0 && left_sub);
    return left ? 0 : length - LengthOf(d);
  }
  // Calls visit(place in the matrix, place in the lines) for every element of the band.
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (int64_t d = upper; d >= lower; --d) {
      const int64_t line = (upper - d) * length + OffsetOf(d), n = LengthOf(d);
      const int64_t first = std::max<int64_t>(-d, 0) * cols + std::max<int64_t>(d, 0);
      for (int64_t i = 0; i < n; ++i) visit(first + i * (cols + 1), line + i);
    }
  }
};

Status ReadRange(const Tensor& k, Band* band) {
  if (k.rank() > 1) {
    return errors::InvalidArgument("diag_index must be a scalar or vector, received shape: ", k.shape().ToString());
  }
  if (k.num_elements() < 1 || k.num_elements() > 2) {
    return errors::InvalidArgument("diag_index must have only one or two elements, received ", k.num_elements(),
                                   " elements.");
  }
  band->lower = k.data<int32_t>()[0];
  band->upper = k.data<int32_t>()[k.num_elements() - 1];
  if (band->lower <= band->upper) return OkStatus();
  return errors::InvalidArgument("lower_diag_index must not be larger than upper_diag_index: ", band->lower, " > ",
                                 band->upper);
}

Status ReadSize(const Tensor& t, const char* what, int64_t* size) {
  if (t.rank() != 0) return errors::InvalidArgument(what, " must be a scalar");
  *size = t.scalar<int32_t>();
  return OkStatus();
}

// The size of the matrices from the lines and what was asked for (-1: as small as can be).
Status FindMatrixSize(int64_t rows, int64_t cols, Band* band) {
  const int64_t min_rows = band->length - std::min<int64_t>(band->upper, 0);
  const int64_t min_cols = band->length + std::max<int64_t>(band->lower, 0);
  if (rows == -1 && cols == -1) rows = cols = std::max(min_rows, min_cols);
  if (rows == -1) rows = min_rows;
  if (cols == -1) cols = min_cols;
  if (rows < min_rows) return errors::InvalidArgument("The number of rows is too small.");
  if (cols < min_cols) return errors::InvalidArgument("The number of columns is too small.");
  if (rows != min_rows && cols != min_cols) {
    return errors::InvalidArgument(
        "The number of rows or columns is not consistent with the specified d_lower, "
        "d_upper, and diagonal.");
  }
  band->rows = rows;
  band->cols = cols;
  return OkStatus();
}

Status CheckInside(const Band& b) {
  for (const int64_t d : {b.lower, b.upper}) {
    if (d != 0 && (d <= -b.rows || d >= b.cols)) {
      return errors::InvalidArgument("diagonal index is out of bound: ", d, ". It must be between ", -b.rows, " and ",
                                     b.cols);
    }
  }
  return OkStatus();
}

// The band of the matrices in the last two dimensions of `in`.
Status ReadMatrixBand(const Tensor& in, const Tensor& k, Band* band) {
  if (in.rank() < 2) {
    return errors::InvalidArgument("input must be at least 2-dim, received shape: ", in.shape().ToString());
  }
  RETURN_IF_ERROR(ReadRange(k, band));
  band->rows = in.dim(in.rank() - 2);
  band->cols = in.dim(in.rank() - 1);
  RETURN_IF_ERROR(CheckInside(*band));
  band->length = Band::MaxLength(band->rows, band->cols, band->lower, band->upper);
  return OkStatus();
}

Dims LinesShape(const Tensor& in, const Band& band) {
  Dims dims(in.shape().dims().begin(), in.shape().dims().end() - 2);
  if (band.count() > 1) dims.push_back(band.count());
  dims.push_back(band.length);
  return dims;
}

template <typename T>
void CopyBand(const KernelContext& ctx, const Band& band, int64_t batch, T* matrices, const T* lines) {
  const int64_t matrix = band.rows * band.cols, line = band.count() * band.length;
  ctx.ParallelFor(batch, static_cast<double>(line), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      band.ForEach([&](int64_t at, int64_t in_line) { matrices[b * matrix + at] = lines[b * line + in_line]; });
    }
  });
}

class BandKernel : public Kernel {
 public:
  explicit BandKernel(KernelInit& init) {
    if (!init.HasAttr("align")) return;
    const auto align = init.Attr<std::string>("align");
    band_.left_super = align == "LEFT_LEFT" || align == "LEFT_RIGHT";
    band_.left_sub = align == "LEFT_LEFT" || align == "RIGHT_LEFT";
  }

 protected:
  Band band_;
};

class MatrixDiagBand final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor& lines = ctx.input(0);
    if (lines.rank() < 1) {
      return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", lines.shape().ToString());
    }
    Band band = band_;
    int64_t rows = 0, cols = 0;
    RETURN_IF_ERROR(ReadRange(ctx.input(1), &band));
    RETURN_IF_ERROR(ReadSize(ctx.input(2), "num_rows", &rows));
    RETURN_IF_ERROR(ReadSize(ctx.input(3), "num_cols", &cols));
    if (ctx.input(4).num_elements() != 1) return errors::InvalidArgument("padding_value must be a scalar");
    const int outer = lines.rank() - (band.count() > 1 ? 2 : 1);
    if (outer < 0 || (band.count() > 1 && lines.dim(outer) != band.count())) {
      return errors::InvalidArgument(
          "The number of diagonals provided in the input does not match the "
          "lower_diag_index and upper_diag_index range.");
    }
    band.length = lines.dim(lines.rank() - 1);
    RETURN_IF_ERROR(FindMatrixSize(rows, cols, &band));
    Dims dims(lines.shape().dims().begin(), lines.shape().dims().begin() + outer);
    dims.push_back(band.rows);
    dims.push_back(band.cols);
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    DispatchBlob(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      ParallelFill(ctx, *BlobData<T>(ctx.input(4)), shape.num_elements(), BlobData<T>(out));
      CopyBand(ctx, band, shape.Product(0, outer), BlobData<T>(out), BlobData<T>(lines));
    });
    return OkStatus();
  }
};

class MatrixDiagPartBand final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    Band band = band_;
    RETURN_IF_ERROR(ReadMatrixBand(in, ctx.input(1), &band));
    if (ctx.input(2).num_elements() != 1) return errors::InvalidArgument("padding_value must be a scalar");
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(LinesShape(in, band)));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
    const int64_t batch = in.shape().Product(0, in.rank() - 2), line = band.count() * band.length;
    const int64_t matrix = band.rows * band.cols;
    DispatchBlob(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      const T* from = BlobData<T>(in);
      T* to = BlobData<T>(out);
      ParallelFill(ctx, *BlobData<T>(ctx.input(2)), shape.num_elements(), to);
      ctx.ParallelFor(batch, static_cast<double>(line), [&](int64_t begin, int64_t end) {
        for (int64_t b = begin; b < end; ++b) {
          band.ForEach([&](int64_t at, int64_t in_line) { to[b * line + in_line] = from[b * matrix + at]; });
        }
      });
    });
    return OkStatus();
  }
};

class MatrixSetDiagBand final : public BandKernel {
 public:
  using BandKernel::BandKernel;
  Status Compute(KernelContext& ctx) override {
    const Tensor &in = ctx.input(0), &lines = ctx.input(1);
    Band band = band_;
    RETURN_IF_ERROR(ReadMatrixBand(in, ctx.input(2), &band));
    if (lines.rank() < 1)
      return errors::InvalidArgument("diagonal must be at least 1-dim, received shape: ", lines.shape().ToString());
    ASSIGN_OR_RETURN(const Shape expected, MakeShape(LinesShape(in, band)));
    if (band.count() > 1 && lines.rank() < in.rank() - 1) {
      return errors::InvalidArgument(
          "Diagonal tensor rank must be large enough to contain a diagonal-count dimension. Input rank: ", in.rank(),
          ", Received diagonal rank: ", lines.rank());
    }
    if (!(lines.shape() == expected)) {
      return errors::InvalidArgument(
          "Either first dimensions of diagonal don't match input.shape[:-2], or the diagonals are not as long as the "
          "longest one of the range: input shape ",
          in.shape().ToString(), ", expected diagonal shape ", expected.ToString(), ", got ", lines.shape().ToString());
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, in.shape()));
    if (in.num_elements() == 0) return OkStatus();
    DispatchBlob(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      if (out->raw() != in.raw()) ParallelCopy(ctx, BlobData<T>(in), in.num_elements(), BlobData<T>(out));
      CopyBand(ctx, band, in.shape().Product(0, in.rank() - 2), BlobData<T>(out), BlobData<T>(lines));
    });
    return OkStatus();
  }
};

// The range of diagonals from constant input i; false if it is not known.
StatusOr<bool> ConstantRange(const ShapeContext& c, int i, Band* band) {
  PartialShape k;
  RETURN_IF_ERROR(ShapeContext::WithRankAtMost(c.input(i), 1, &k));
  const Tensor* value = c.constant(i);
  if (value == nullptr) return false;
  RETURN_IF_ERROR(ReadRange(*value, band));
  return true;
}

Status MatrixDiagBandShape(ShapeContext& c) {
  PartialShape lines, unused;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &lines));
  for (int i = 2; i < 5; ++i) RETURN_IF_ERROR(ShapeContext::WithRank(c.input(i), 0, &unused));
  Band band;
  ASSIGN_OR_RETURN(const bool known, ConstantRange(c, 1, &band));
  if (!known || !lines.rank_known()) return OkStatus();
  const int outer = lines.rank() - (band.count() > 1 ? 2 : 1);
  if (outer < 0 || (band.count() > 1 && lines.dim(outer) >= 0 && lines.dim(outer) != band.count())) {
    return errors::InvalidArgument("The number of rows of `diagonal` does not match the number of diagonals from k.");
  }
  band.length = lines.dim(lines.rank() - 1);
  int64_t rows = -1, cols = -1;
  const bool rows_known = c.ConstantInt(2, &rows), cols_known = c.ConstantInt(3, &cols);
  if (band.length >= 0 && rows_known && cols_known) {
    RETURN_IF_ERROR(FindMatrixSize(rows, cols, &band));
    rows = band.rows;
    cols = band.cols;
  } else {
    rows = rows_known && rows >= 0 ? rows : -1;
    cols = cols_known && cols >= 0 ? cols : -1;
  }
  c.set_output(0, lines.Slice(0, outer).Concatenate(PartialShape({rows, cols})));
  return OkStatus();
}

// The shape of the lines that fit input 0, as far as known.
StatusOr<PartialShape> LinesOf(const ShapeContext& c, int k) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 2, &in));
  Band band;
  ASSIGN_OR_RETURN(const bool known, ConstantRange(c, k, &band));
  if (!known || !in.rank_known()) return PartialShape();
  band.rows = in.dim(in.rank() - 2);
  band.cols = in.dim(in.rank() - 1);
  const bool sized = band.rows >= 0 && band.cols >= 0;
  if (sized) RETURN_IF_ERROR(CheckInside(band));
  std::vector<int64_t> tail;
  if (band.count() > 1) tail.push_back(band.count());
  tail.push_back(sized ? Band::MaxLength(band.rows, band.cols, band.lower, band.upper) : -1);
  return in.Slice(0, in.rank() - 2).Concatenate(PartialShape(std::move(tail)));
}

Status MatrixDiagPartBandShape(ShapeContext& c) {
  PartialShape unused;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 0, &unused));
  ASSIGN_OR_RETURN(PartialShape lines, LinesOf(c, 1));
  c.set_output(0, std::move(lines));
  return OkStatus();
}

Status MatrixSetDiagBandShape(ShapeContext& c) {
  PartialShape lines;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(1), 1, &lines));
  ASSIGN_OR_RETURN(const PartialShape expected, LinesOf(c, 2));
  RETURN_IF_ERROR(expected.MergeWith(lines).status());
  c.set_output(0, c.input(0));
  return OkStatus();
}

Output Zero(const GradContext& g, Output like) { return g.ConstLike(like, 0); }
std::string AlignOf(const GradContext& g) {
  return g.node().attrs().Has("align") ? g.Attr<std::string>("align") : "LEFT_LEFT";
}
Output Lines(const GradContext& g, Output dy, Output k) {
  return g.Op("MatrixDiagPartV3", {dy, k, Zero(g, dy)}, {{"align", AlignOf(g)}});
}

Status MatrixDiagBandGrad(GradContext& g) {
  g.set_dx(0, Lines(g, g.dy(0), g.input(1)));
  return g.status();
}
Status MatrixDiagPartBandGrad(GradContext& g) {
  g.set_dx(0, g.Op("MatrixSetDiagV3", {g.Op("ZerosLike", {g.input(0)}), g.dy(0), g.input(1)}, {{"align", AlignOf(g)}}));
  return g.status();
}
Status MatrixSetDiagBandGrad(GradContext& g) {
  const Output dy = g.dy(0);
  const Output none = g.Op("ZerosLike", {g.input(1)});
  g.set_dx(0, g.Op("MatrixSetDiagV3", {dy, none, g.input(2)}, {{"align", AlignOf(g)}}));
  g.set_dx(1, Lines(g, dy, g.input(2)));
  return g.status();
}

void AlignAttr(OpBuilder& op) {
  op.Attr("align: {'LEFT_RIGHT', 'RIGHT_LEFT', 'LEFT_LEFT', 'RIGHT_RIGHT'} = 'RIGHT_LEFT'");
}

void MatrixDiagOp(OpBuilder& op) {
  op.Input("diagonal: T")
      .Input("k: int32")
      .Input("num_rows: int32")
      .Input("num_cols: int32")
      .Input("padding_value: T")
      .Output("output: T")
      .Attr("T: type")
      .Shape(MatrixDiagBandShape)
      .Gradient(MatrixDiagBandGrad)
      .CpuFor<MatrixDiagBand>(PodTypes{})
      .HostMemory("k")
      .HostMemory("num_rows")
      .HostMemory("num_cols")
      .HostMemory("padding_value")
      .Doc("Matrices with the given diagonals k[0] ... k[1] and a padding elsewhere.");
}
OP("MatrixDiagV2").With(MatrixDiagOp);
OP("MatrixDiagV3").With(MatrixDiagOp).With(AlignAttr);

void MatrixDiagPartOp(OpBuilder& op) {
  op.Input("input: T")
      .Input("k: int32")
      .Input("padding_value: T")
      .Output("diagonal: T")
      .Attr("T: type")
      .Shape(MatrixDiagPartBandShape)
      .Gradient(MatrixDiagPartBandGrad)
      .CpuFor<MatrixDiagPartBand>(PodTypes{})
      .HostMemory("k")
      .HostMemory("padding_value")
      .Doc("Diagonals k[0] ... k[1] of matrices as lines, padded to the longest.");
}
OP("MatrixDiagPartV2").With(MatrixDiagPartOp);
OP("MatrixDiagPartV3").With(MatrixDiagPartOp).With(AlignAttr);

void MatrixSetDiagOp(OpBuilder& op) {
  op.Input("input: T")
      .Input("diagonal: T")
      .Input("k: int32")
      .Output("output: T")
      .Attr("T: type")
      .Shape(MatrixSetDiagBandShape)
      .Gradient(MatrixSetDiagBandGrad)
      .CpuFor<MatrixSetDiagBand>(PodTypes{})
      .HostMemory("k")
      .Doc("Matrices with other diagonals k[0] ... k[1].");
}
OP("MatrixSetDiagV2").With(MatrixSetDiagOp);
OP("MatrixSetDiagV3").With(MatrixSetDiagOp).With(AlignAttr);

}  // namespace
}  // namespace millstream
