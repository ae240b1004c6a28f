// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/linalg/gradients.h"

namespace millstream {

Output LinalgGrad::Adjoint(Output a) const {
  const Scope& s = g_.scope();
  const PartialShape shape = s.ShapeOf(a);
  Output order;
  if (shape.rank_known() && shape.rank() >= 2) {
    std::vector<int32_t> axes;
    for (int d = 0; d < shape.rank() - 2; ++d) axes.push_back(d);
    axes.push_back(shape.rank() - 1);
    axes.push_back(shape.rank() - 2);
    order = s.Const(Tensor::Vector(axes));
  } else {
    const Output rank = g_.Op("Rank", {a}), one = s.Const<int32_t>(1), two = s.Const<int32_t>(2);
    const Output lead = g_.Op("Range", {s.Const<int32_t>(0), g_.Op("Sub", {rank, two}), one});
    const Output last = g_.Op("Pack", {g_.Op("Sub", {rank, one}), g_.Op("Sub", {rank, two})}, {{"N", 2}});
    order = g_.Op("ConcatV2", {lead, last, s.Const<int32_t>(0)}, {{"N", 2}});
  }
  return Conj(g_.Op("Transpose", {a, order}));
}

Output LinalgGrad::IdentityLike(Output like) const {
  const Output ones = g_.Op("MatrixDiagPart", {g_.Op("OnesLike", {like})});
  return g_.Op("MatrixDiag", {ones});
}

Output LinalgGrad::AsMatrices(Output a) const {
  const Output last = g_.scope().Const<int32_t>(-1);
  return g_.Op("ExpandDims", {g_.Op("ExpandDims", {a, last}), last});
}

Output LinalgGrad::Band(Output a, int64_t lower, int64_t upper) const {
  return g_.Op("MatrixBandPart", {a, g_.scope().Const(lower), g_.scope().Const(upper)});
}

Status LinalgGrad::EigGrad(Output e, Output v, Output de, Output dv) const {
  Output middle = g_.Op("MatrixDiag", {de});
  if (dv) {
    const Output last = g_.scope().Const<int32_t>(-1), before = g_.scope().Const<int32_t>(-2);
    const Output gaps = Sub(g_.Op("ExpandDims", {e, before}), g_.Op("ExpandDims", {e, last}));
    const Output f = g_.Op("MatrixSetDiag", {Inverse(gaps), g_.Op("ZerosLike", {e})});
    middle = Add(middle, Mul(f, Product(v, dv, true, false)));
  }
  const Output full = Product(Product(v, middle, false, false), v, false, true);
  const Output lower = LowerPart(Add(full, Adjoint(full)));
  g_.set_dx(0, g_.Op("MatrixSetDiag", {lower, Mul(g_.Op("MatrixDiagPart", {lower}), 0.5)}));
  return g_.status();
}

}  // namespace millstream
