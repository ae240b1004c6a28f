// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_LAYERS_RNN_WRAPPERS_H_
#define MILLSTREAM_TRAIN_LAYERS_RNN_WRAPPERS_H_

#include <memory>
#include <optional>
#include <vector>

#include "millstream/train/layers/rnn_cell.h"

namespace millstream::rnn {

// Cells on top of each other. REQUIRES: at least one, none null.
class MultiRnnCell final : public Cell {
 public:
  explicit MultiRnnCell(std::vector<std::shared_ptr<Cell>> cells) : cells_(std::move(cells)) {}
  std::vector<int64_t> state_sizes() const override;
  std::vector<bool> state_may_drop() const override;
  int64_t output_size() const override { return cells_.back()->output_size(); }
  State ZeroState(const Scope& scope, const BatchSize& batch_size, DType dtype) const override;

 private:
  const char* class_name() const override { return "MultiRNNCell"; }
  Step Call(const VariableScope& variables, Output x, const State& state) override;
  const std::vector<std::shared_ptr<Cell>> cells_;
  std::optional<VariableScope> own_;  // of the first call
};

// How likely a value is kept: a number in [0, 1], or a scalar that each step is fed.
struct KeepProb {
  KeepProb(double v) : value(v) {}              // NOLINT(google-explicit-constructor)
  KeepProb(Output t) : value(-1), tensor(t) {}  // NOLINT(google-explicit-constructor)
  double value;
  Output tensor = {};
};

struct DropoutOptions {
  KeepProb input_keep_prob = 1.0, output_keep_prob = 1.0, state_keep_prob = 1.0;
  Seed seed = {};
};

// Dropout before and after a cell. With a seed, the input, each state and the output have seeds of their own, which are
// those of TensorFlow. REQUIRES: the cell is not null.
class DropoutWrapper final : public Cell {
 public:
  DropoutWrapper(std::shared_ptr<Cell> cell, DropoutOptions options)
      : cell_(std::move(cell)), options_(std::move(options)) {}
  std::vector<int64_t> state_sizes() const override { return cell_->state_sizes(); }
  std::vector<bool> state_may_drop() const override { return cell_->state_may_drop(); }
  int64_t output_size() const override { return cell_->output_size(); }
  State ZeroState(const Scope& scope, const BatchSize& batch_size, DType dtype) const override;

 private:
  const char* class_name() const override { return "DropoutWrapper"; }
  Step Call(const VariableScope& variables, Output x, const State& state) override;
  Output Drop(const Scope& scope, Output x, const KeepProb& keep, const char* what, size_t index) const;
  const std::shared_ptr<Cell> cell_;
  const DropoutOptions options_;
};

}  // namespace millstream::rnn

#endif  // MILLSTREAM_TRAIN_LAYERS_RNN_WRAPPERS_H_
