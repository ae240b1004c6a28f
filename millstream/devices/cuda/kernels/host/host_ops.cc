// SPDX-License-Identifier: Apache-2.0
// Ops that TensorFlow runs on GPUs and that have no CUDA kernel here: results whose shape depends on values, special
// functions, complex numbers, factorizations. A program that names a GPU for them runs; their values are copied to the
// host and back.
#include "millstream/devices/cuda/borrowed_kernel.h"

namespace millstream::cuda {
namespace {

constexpr const char* kWholeOps[] = {
    // Shapes that depend on values.
    "Where",
    "DynamicPartition",
    "DynamicStitch",
    "ParallelDynamicStitch",
    "Unique",
    "UniqueWithCounts",
    "SegmentSum",
    "SegmentMean",
    "SegmentProd",
    "SegmentMax",
    "SegmentMin",
    "SparseSegmentSum",
    "SparseSegmentMean",
    "SparseSegmentSqrtN",
    "SparseSegmentSumWithNumSegments",
    "SparseSegmentMeanWithNumSegments",
    "SparseSegmentSqrtNWithNumSegments",
    "SparseSegmentSumGrad",
    "SparseSegmentMeanGrad",
    "SparseSegmentSqrtNGrad",
    "ListDiff",
    // Special functions.
    "Digamma",
    "Zeta",
    "Polygamma",
    "Igamma",
    "Igammac",
    "IgammaGradA",
    "Betainc",
    "NextAfter",
    // Complex numbers.
    "Complex",
    "Real",
    "Imag",
    "Conj",
    "ComplexAbs",
    "Angle",
    // Others.
    "Bincount",
    "Bucketize",
    "CheckNumerics",
    "Cross",
    "HistogramFixedWidth",
    "PopulationCount",
    "Multinomial",
    "Cholesky",
    "CholeskyGrad",
    "MatrixDeterminant",
    "MatrixInverse",
    "MatrixSolve",
    "MatrixTriangularSolve",
    "Qr",
    "Svd",
    "ResizeBicubic",
    "ResizeBicubicGrad",
    "ResizeArea",
    "CropAndResize",
    "CropAndResizeGradImage",
    "CropAndResizeGradBoxes",
    "ExtractImagePatches",
    "AdjustContrastv2",
    "AdjustHue",
    "AdjustSaturation",
    "HSVToRGB",
    "RGBToHSV",
};

// Element-wise ops and reductions that have CUDA kernels for real numbers.
constexpr const char* kComplexOps[] = {
    "Add",
    "AddV2",
    "Sub",
    "Mul",
    "Div",
    "RealDiv",
    "DivNoNan",
    "MulNoNan",
    "SquaredDifference",
    "Neg",
    "Sign",
    "Equal",
    "NotEqual",
    "Square",
    "Sqrt",
    "Rsqrt",
    "Inv",
    "Reciprocal",
    "Exp",
    "Expm1",
    "Log",
    "Log1p",
    "Sin",
    "Cos",
    "Tan",
    "Sinh",
    "Cosh",
    "Tanh",
    "Pow",
    "Sigmoid",
    "TanhGrad",
    "SigmoidGrad",
    "SqrtGrad",
    "RsqrtGrad",
    "InvGrad",
    "ReciprocalGrad",
    "Sum",
    "Mean",
    "Prod",
    "AddN",
    "Cumsum",
    "Cumprod",
    "ClipByValue",
    "UnsortedSegmentSum",
    "ConjugateTranspose",
};

[[maybe_unused]] const bool registered = [] {
  for (const char* op : kWholeOps) BorrowedKernel(op, {"*"}).ForAll();
  for (const char* op : kComplexOps) BorrowedKernel(op, {"*"}).For(ComplexTypes{});
  return true;
}();

}  // namespace
}  // namespace millstream::cuda
