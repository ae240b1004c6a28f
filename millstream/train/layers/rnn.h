// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_RNN_H_
#define MILLSTREAM_TRAIN_LAYERS_RNN_H_

#include <string>
#include <vector>

#include "millstream/train/layers/rnn_cell.h"
#include "millstream/train/layers/rnn_wrappers.h"

namespace millstream::rnn {

struct Options {
  Output sequence_length = {};  // of each of the batch; none: all are as long as the input
  State initial_state = {};     // none: zeros of the input's type
  int64_t parallel_iterations = 32;
  bool swap_memory = false;
  bool time_major = false;  // inputs and outputs are [time, batch, size], not [batch, time, size]
  std::string scope = {};   // none: "rnn" ("bidirectional_rnn")
};

// Beyond a sequence's length outputs are 0 and the state stays as it is. Errors go to the scope's status: empty then.
struct Result {
  Output outputs;
  State state;
};
// A cell over inputs [batch, time, size], in a loop. InvalidArgument unless the rank is 3 and the size known.
Result DynamicRnn(Cell& cell, const VariableScope& variables, Output inputs, const Options& options = {});

struct StaticResult {
  std::vector<Output> outputs;
  State state;
};
// The same for a list of matrices, one for each time, without a loop.
StaticResult StaticRnn(Cell& cell, const VariableScope& variables, const std::vector<Output>& inputs,
                       const Options& options = {});

// Two cells, one of which sees the inputs backwards. The initial state is that of the forward cell, then that of the
// backward one.
struct BidirectionalResult {
  Result forward, backward;
};
BidirectionalResult BidirectionalDynamicRnn(Cell& forward, Cell& backward, const VariableScope& variables,
                                            Output inputs, const Options& options = {});

}  // namespace millstream::rnn

#endif  // MILLSTREAM_TRAIN_LAYERS_RNN_H_
