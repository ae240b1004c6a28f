// SPDX-License-Identifier: Apache-2.0
// One step of a gated recurrent unit (Cho et al., 2014).
#include <algorithm>
#include <cmath>

#include "millstream/framework/op.h"
#include "millstream/math/gemm/gemm.h"

namespace millstream {
namespace {

// Inputs: x [batch, input], h_prev [batch, cell], w_ru [input + cell, 2 cell], w_c [input + cell, cell], b_ru, b_c; the
// gradient has r, u, c and d_h, all [batch, cell], after them.
struct GruSizes {
  int64_t batch = 0, input = 0, cell = 0;

  static StatusOr<GruSizes> Read(const KernelContext& ctx) {
    GruSizes s;
    const Tensor &x = ctx.input(0), &h = ctx.input(1);
    if (x.rank() != 2) return errors::InvalidArgument("Rank of x must be 2, got ", x.rank());
    if (h.rank() != 2) return errors::InvalidArgument("Rank of h_prev must be 2, got ", h.rank());
    s.batch = x.dim(0);
    s.input = x.dim(1);
    s.cell = h.dim(1);
    constexpr int64_t kLargest = int64_t{1} << 30;  // so that products of two can be counted
    if (std::max({s.batch, s.input, s.cell}) > kLargest) return errors::InvalidArgument("cell is too large");
    const Shape state({s.batch, s.cell});
    const Shape expected[] = {
        x.shape(),           state,          Shape({s.input + s.cell, s.cell * 2}), Shape({s.input + s.cell, s.cell}),
        Shape({s.cell * 2}), Shape({s.cell})};
    constexpr const char* kNames[] = {"x", "h_prev", "w_ru", "w_c", "b_ru", "b_c", "r", "u", "c", "d_h"};
    for (int i = 0; i < ctx.num_inputs(); ++i) {
      const Shape& want = i < 6 ? expected[i] : state;
      if (ctx.input(i).shape() == want) continue;
      return errors::InvalidArgument(kNames[i], " must have the shape ", want.ToString(), ", got ",
                                     ctx.input(i).shape().ToString());
    }
    return s;
  }
  // [x, h] of the batch, the second part weighted by `gate` if there is one.
  std::vector<float> Joined(const float* x, const float* h, const float* gate) const {
    std::vector<float> out(static_cast<size_t>(batch * (input + cell)));
    for (int64_t r = 0; r < batch; ++r) {
      float* to = out.data() + r * (input + cell);
      std::copy_n(x + r * input, input, to);
      for (int64_t c = 0; c < cell; ++c) to[input + c] = h[r * cell + c] * (gate == nullptr ? 1 : gate[r * cell + c]);
    }
    return out;
  }
};

// [rows, k] by w [k, n] plus a bias, or by the transposed [n, k] one.
std::vector<float> Product(const std::vector<float>& a, const float* w, bool transposed, int64_t rows, int64_t k,
                           int64_t n, const float* bias, ThreadPool* pool) {
  std::vector<float> out(static_cast<size_t>(rows * n));
  math::GemmArgs<float> args;
  args.m = rows;
  args.n = n;
  args.k = k;
  args.a = a.data();
  args.b = w;
  args.trans_b = transposed;
  args.c = out.data();
  args.bias = bias;
  math::Gemm(args, pool);
  return out;
}

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

Status GruCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const GruSizes s, GruSizes::Read(ctx));
  const auto in = [&](int i) { return ctx.input(i).data<float>(); };
  float* out[4];  // r, u, c, h
  for (int i = 0; i < 4; ++i) {
    ASSIGN_OR_RETURN(Tensor * t, ctx.AllocateOutput(i, Shape({s.batch, s.cell})));
    out[i] = t->data<float>();
  }
  const int64_t width = s.input + s.cell, n = s.batch * s.cell;
  const std::vector<float> gates =
      Product(s.Joined(in(0), in(1), nullptr), in(2), false, s.batch, width, 2 * s.cell, in(4), ctx.pool());
  for (int64_t k = 0; k < n; ++k) {
    const float* gate = gates.data() + k / s.cell * 2 * s.cell + k % s.cell;
    out[0][k] = Sigmoid(gate[0]);
    out[1][k] = Sigmoid(gate[s.cell]);
  }
  const std::vector<float> candidate =
      Product(s.Joined(in(0), in(1), out[0]), in(3), false, s.batch, width, s.cell, in(5), ctx.pool());
  for (int64_t k = 0; k < n; ++k) {
    out[2][k] = std::tanh(candidate[k]);
    out[3][k] = out[1][k] * in(1)[k] + (1 - out[1][k]) * out[2][k];
  }
  return OkStatus();
}

Status GruGradCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const GruSizes s, GruSizes::Read(ctx));
  const auto in = [&](int i) { return ctx.input(i).data<float>(); };
  const float *h = in(1), *r = in(6), *u = in(7), *c = in(8), *dh = in(9);
  ASSIGN_OR_RETURN(Tensor * dx, ctx.AllocateOutput(0, Shape({s.batch, s.input})));
  ASSIGN_OR_RETURN(Tensor * dh_prev, ctx.AllocateOutput(1, Shape({s.batch, s.cell})));
  ASSIGN_OR_RETURN(Tensor * dc_bar, ctx.AllocateOutput(2, Shape({s.batch, s.cell})));
  ASSIGN_OR_RETURN(Tensor * dru_bar, ctx.AllocateOutput(3, Shape({s.batch, 2 * s.cell})));
  const int64_t width = s.input + s.cell, n = s.batch * s.cell;
  std::vector<float> dc(static_cast<size_t>(n)), dru(static_cast<size_t>(2 * n));
  for (int64_t k = 0; k < n; ++k) dc[k] = dh[k] * (1 - u[k]) * (1 - c[k] * c[k]);
  const std::vector<float> by_c = Product(dc, in(3), true, s.batch, s.cell, width, nullptr, ctx.pool());
  const auto of_h = [&](const std::vector<float>& joined, int64_t k) {
    return joined[k / s.cell * width + s.input + k % s.cell];
  };
  for (int64_t k = 0; k < n; ++k) {
    float* gate = dru.data() + k / s.cell * 2 * s.cell + k % s.cell;
    gate[0] = of_h(by_c, k) * h[k] * r[k] * (1 - r[k]);
    gate[s.cell] = dh[k] * (h[k] - c[k]) * u[k] * (1 - u[k]);
  }
  const std::vector<float> by_ru = Product(dru, in(2), true, s.batch, 2 * s.cell, width, nullptr, ctx.pool());
  for (int64_t k = 0; k < s.batch * s.input; ++k) {
    const int64_t at = k / s.input * width + k % s.input;
    dx->data<float>()[k] = by_ru[at] + by_c[at];
  }
  for (int64_t k = 0; k < n; ++k) dh_prev->data<float>()[k] = of_h(by_ru, k) + of_h(by_c, k) * r[k] + dh[k] * u[k];
  std::copy(dc.begin(), dc.end(), dc_bar->data<float>());
  std::copy(dru.begin(), dru.end(), dru_bar->data<float>());
  return OkStatus();
}

Status GruShape(ShapeContext& c) {
  PartialShape x, h;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &x));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &h));
  for (int i = 0; i < 4; ++i) c.set_output(i, PartialShape({x.dim(0), h.dim(1)}));
  return OkStatus();
}
Status GruGradShape(ShapeContext& c) {
  PartialShape x, h, w;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &x));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &h));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(2), 2, &w));
  const int64_t cell = h.dim(1);
  c.set_output(0, x);
  c.set_output(1, PartialShape({x.dim(0), cell}));
  c.set_output(2, PartialShape({x.dim(0), cell}));
  c.set_output(3, PartialShape({x.dim(0), cell < 0 ? -1 : 2 * cell}));
  return OkStatus();
}

OP("GRUBlockCell")
    .Input("x: T")
    .Input("h_prev: T")
    .Input("w_ru: T")
    .Input("w_c: T")
    .Input("b_ru: T")
    .Input("b_c: T")
    .Output("r: T")
    .Output("u: T")
    .Output("c: T")
    .Output("h: T")
    .Attr("T: {float}")
    .Shape(GruShape)
    .Cpu(GruCpu)
    .Expensive()
    .Doc("One step of a gated recurrent unit, with all that its gradient needs.");

OP("GRUBlockCellGrad")
    .Input("x: T")
    .Input("h_prev: T")
    .Input("w_ru: T")
    .Input("w_c: T")
    .Input("b_ru: T")
    .Input("b_c: T")
    .Input("r: T")
    .Input("u: T")
    .Input("c: T")
    .Input("d_h: T")
    .Output("d_x: T")
    .Output("d_h_prev: T")
    .Output("d_c_bar: T")
    .Output("d_r_bar_u_bar: T")
    .Attr("T: {float}")
    .Shape(GruGradShape)
    .Cpu(GruGradCpu)
    .Expensive()
    .Doc("The gradient of one step of a gated recurrent unit.");

}  // namespace
}  // namespace millstream
