// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/lstm_cell.h"

#include <algorithm>
#include <cmath>

#include "millstream/math/gemm/gemm.h"

namespace millstream {
namespace {

float Sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

std::vector<float> LstmCell::Joined(const Before& before) const {
  std::vector<float> xh(static_cast<size_t>(batch * (input + cell)));
  for (int64_t r = 0; r < batch; ++r) {
    float* to = xh.data() + r * (input + cell);
    std::copy_n(before.x + r * input, input, to);
    std::copy_n(before.h + r * cell, cell, to + input);
  }
  return xh;
}

void LstmCell::Forward(const Before& before, const State& s, ThreadPool* pool) const {
  const std::vector<float> xh = Joined(before);
  std::vector<float> gates(static_cast<size_t>(batch * 4 * cell));
  math::GemmArgs<float> product;
  product.m = batch;
  product.n = 4 * cell;
  product.k = input + cell;
  product.a = xh.data();
  product.b = w;
  product.c = gates.data();
  product.bias = b;
  math::Gemm(product, pool);
  for (int64_t r = 0; r < batch; ++r) {
    for (int64_t c = 0; c < cell; ++c) {
      const int64_t k = r * cell + c;
      const float* gate = gates.data() + r * 4 * cell + c;
      const float last = before.cs[k];
      s.i[k] = Sigmoid(gate[0] + (peephole ? last * wci[c] : 0));
      s.ci[k] = std::tanh(gate[gate_c()]);
      s.f[k] = Sigmoid(gate[gate_f()] + forget_bias + (peephole ? last * wcf[c] : 0));
      float state = s.i[k] * s.ci[k] + s.f[k] * last;
      if (clip > 0) state = std::max(std::min(state, clip), -clip);
      s.cs[k] = state;
      s.co[k] = std::tanh(state);
      s.o[k] = Sigmoid(gate[gate_o()] + (peephole ? state * wco[c] : 0));
      s.h[k] = s.o[k] * s.co[k];
    }
  }
}

void LstmCell::Backward(const Before& before, const State& s, const float* cs_grad, const float* h_grad, float* dgates,
                        float* cs_prev_grad, const ParameterGrads& grads) const {
  for (int64_t r = 0; r < batch; ++r) {
    for (int64_t c = 0; c < cell; ++c) {
      const int64_t k = r * cell + c;
      const float i = s.i[k], f = s.f[k], o = s.o[k], ci = s.ci[k], co = s.co[k], last = before.cs[k];
      const float dout = o * (1 - o) * h_grad[k] * co;
      const float dcs = (1 - co * co) * h_grad[k] * o + cs_grad[k] + (peephole ? dout * wco[c] : 0);
      const float dci = (1 - ci * ci) * dcs * i, df = f * (1 - f) * dcs * last, di = i * (1 - i) * dcs * ci;
      float* gate = dgates + r * 4 * cell + c;
      gate[0] = di;
      gate[gate_c()] = dci;
      gate[gate_f()] = df;
      gate[gate_o()] = dout;
      cs_prev_grad[k] = dcs * f + (peephole ? di * wci[c] + df * wcf[c] : 0);
      if (!peephole || grads.wci == nullptr) continue;
      grads.wci[c] += di * last;
      grads.wcf[c] += df * last;
      grads.wco[c] += dout * s.cs[k];
    }
  }
}

}  // namespace millstream
