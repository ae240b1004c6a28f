// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_RNN_CELL_H_
#define MILLSTREAM_TRAIN_LAYERS_RNN_CELL_H_

#include <memory>
#include <string>
#include <vector>

#include "millstream/graph/variables/variable_scope.h"
#include "millstream/train/layers/layers.h"

namespace millstream::rnn {

// Cells of recurrent networks, as tf.nn.rnn_cell has them, with their names of variables. A state is a list of matrices
// [batch, size]; that of an LSTM is c and h. Cells that wrap others have the states of all of them, in order.

using State = std::vector<Output>;

// The number of sequences: known, or a scalar of type int32.
struct BatchSize {
  BatchSize(int64_t number) : known(number) {}             // NOLINT(google-explicit-constructor)
  BatchSize(Output scalar) : known(-1), tensor(scalar) {}  // NOLINT(google-explicit-constructor)
  int64_t known;
  Output tensor = {};
};
// Zeros [batch, size].
Output BatchZeros(const Scope& scope, const BatchSize& batch_size, int64_t size, DType dtype);

// One cell makes its variables when it is first called, in the scope that it is called with, and uses them in all other
// calls; it belongs to one graph. Errors go to the scope's status.
class Cell {
 public:
  virtual ~Cell() = default;
  Cell() = default;
  Cell(const Cell&) = delete;
  Cell& operator=(const Cell&) = delete;

  virtual std::vector<int64_t> state_sizes() const = 0;
  virtual int64_t output_size() const = 0;
  // Which states dropout may reach: all but the memory c of LSTMs.
  virtual std::vector<bool> state_may_drop() const { return std::vector<bool>(state_sizes().size(), true); }

  struct Step {
    Output output;
    State state;
  };
  // One step over a matrix x. InvalidArgument: its number of columns is not known, or there is another number of
  // states.
  Step operator()(const VariableScope& variables, Output x, const State& state);

  // In the name scope "<class name>ZeroState".
  virtual State ZeroState(const Scope& scope, const BatchSize& batch_size, DType dtype) const;

 protected:
  // Of the class in TensorFlow.
  virtual const char* class_name() const { return "RNNCell"; }
  // REQUIRES: the number of states fits.
  virtual Step Call(const VariableScope& variables, Output x, const State& state) = 0;
};

struct CellOptions {
  std::string name = {};  // of its scope; none: the class's, as "basic_lstm_cell"
  layers::Activation activation = layers::Tanh;
  Initializer kernel_initializer = nullptr;  // none: the scope's, else Glorot's
  Initializer bias_initializer = nullptr;    // none: zeros (gates of a GRU: ones)
};

// What BasicRNN, GRU and the LSTMs share: variables that are made once.
class LayerCell : public Cell {
 public:
  int64_t output_size() const override { return num_units_; }

 protected:
  LayerCell(int64_t num_units, CellOptions options, const char* base)
      : num_units_(num_units), options_(std::move(options)), base_(base) {}
  Step Call(const VariableScope& variables, Output x, const State& state) final;
  // Makes them, for inputs of so many columns.
  virtual void Build(const VariableScope& variables, int64_t depth, DType dtype) = 0;
  virtual Step Compute(const Scope& s, Output x, const State& state) = 0;
  // A matrix, or a vector of that many columns if there are 0 rows.
  Output Kernel(const VariableScope& v, const char* name, int64_t rows, int64_t columns, DType dtype) const;
  Output Bias(const VariableScope& v, const char* name, int64_t size, DType dtype, double initial = 0) const;

  const int64_t num_units_;
  const CellOptions options_;

 private:
  const char* base_;
  std::string name_scope_;  // of the first call; ops of all calls go there
};

class BasicRnnCell final : public LayerCell {
 public:
  explicit BasicRnnCell(int64_t num_units, CellOptions options = {})
      : LayerCell(num_units, std::move(options), "basic_rnn_cell") {}
  std::vector<int64_t> state_sizes() const override { return {num_units_}; }

 private:
  const char* class_name() const override { return "BasicRNNCell"; }
  void Build(const VariableScope& variables, int64_t depth, DType dtype) override;
  Step Compute(const Scope& s, Output x, const State& state) override;
  Output kernel_, bias_;
};

class GruCell final : public LayerCell {
 public:
  explicit GruCell(int64_t num_units, CellOptions options = {})
      : LayerCell(num_units, std::move(options), "gru_cell") {}
  std::vector<int64_t> state_sizes() const override { return {num_units_}; }

 private:
  const char* class_name() const override { return "GRUCell"; }
  void Build(const VariableScope& variables, int64_t depth, DType dtype) override;
  Step Compute(const Scope& s, Output x, const State& state) override;
  Output gate_kernel_, gate_bias_, candidate_kernel_, candidate_bias_;
};

class BasicLstmCell final : public LayerCell {
 public:
  explicit BasicLstmCell(int64_t num_units, double forget_bias = 1, CellOptions options = {})
      : LayerCell(num_units, std::move(options), "basic_lstm_cell"), forget_bias_(forget_bias) {}
  std::vector<int64_t> state_sizes() const override { return {num_units_, num_units_}; }
  std::vector<bool> state_may_drop() const override { return {false, true}; }

 private:
  const char* class_name() const override { return "BasicLSTMCell"; }
  void Build(const VariableScope& variables, int64_t depth, DType dtype) override;
  Step Compute(const Scope& s, Output x, const State& state) override;
  const double forget_bias_;
  Output kernel_, bias_;
};

struct LstmOptions {
  bool use_peepholes = false;
  double cell_clip = 0;  // 0: not clipped
  int64_t num_proj = 0;  // 0: the output is not projected
  double proj_clip = 0;
  double forget_bias = 1;
};

class LstmCell final : public LayerCell {
 public:
  explicit LstmCell(int64_t num_units, const LstmOptions& lstm = {}, CellOptions options = {})
      : LayerCell(num_units, std::move(options), "lstm_cell"), lstm_(lstm) {}
  std::vector<int64_t> state_sizes() const override { return {num_units_, output_size()}; }
  std::vector<bool> state_may_drop() const override { return {false, true}; }
  int64_t output_size() const override { return lstm_.num_proj > 0 ? lstm_.num_proj : num_units_; }

 private:
  const char* class_name() const override { return "LSTMCell"; }
  void Build(const VariableScope& variables, int64_t depth, DType dtype) override;
  Step Compute(const Scope& s, Output x, const State& state) override;
  const LstmOptions lstm_;
  Output kernel_, bias_, w_f_diag_, w_i_diag_, w_o_diag_, projection_;
};

}  // namespace millstream::rnn

#endif  // MILLSTREAM_TRAIN_LAYERS_RNN_CELL_H_
