// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_OPS_NN_LSTM_CELL_H_
#define MILLSTREAM_OPS_NN_LSTM_CELL_H_

#include <cstdint>
#include <vector>

#include "millstream/base/thread_pool.h"

// One step of a long short-term memory (Hochreiter and Schmidhuber, 1997), with peepholes if asked for. All matrices
// are dense, a row for each member of the batch.
namespace millstream {

struct LstmCell {
  int64_t batch = 0, input = 0, cell = 0;
  bool peephole = false;
  bool forget_second = false;  // the order of the gates in w and b: i, f, c, o instead of i, c, f, o
  float forget_bias = 0, clip = 0;

  // [input + cell, 4 * cell], [cell], [cell], [cell], [4 * cell]
  const float *w = nullptr, *wci = nullptr, *wcf = nullptr, *wco = nullptr, *b = nullptr;

  // [batch, cell], for a step and the one before it.
  struct State {
    float *i, *cs, *f, *o, *ci, *co, *h;
  };
  struct Before {
    const float *x, *cs, *h;
  };
  void Forward(const Before& before, const State& state, ThreadPool* pool) const;

  // Gradients of the parameters are added to; null ones are left out.
  struct ParameterGrads {
    float *wci = nullptr, *wcf = nullptr, *wco = nullptr;
  };
  // `dgates` is [batch, 4 * cell], in the order of w.
  void Backward(const Before& before, const State& state, const float* cs_grad, const float* h_grad, float* dgates,
                float* cs_prev_grad, const ParameterGrads& grads) const;

  // Where the gates lie in a row of w, b and dgates.
  int64_t gate_c() const { return (forget_second ? 2 : 1) * cell; }
  int64_t gate_f() const { return (forget_second ? 1 : 2) * cell; }
  int64_t gate_o() const { return 3 * cell; }
  // [x, h] of the batch.
  std::vector<float> Joined(const Before& before) const;
};

}  // namespace millstream

#endif  // MILLSTREAM_OPS_NN_LSTM_CELL_H_
