// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>

#include "absl/container/inlined_vector.h"
#include "millstream/ops/elements/broadcast.h"
#include "millstream/ops/fused/block_program.h"

namespace millstream {
namespace {

// The scratch memory of one thread, and how much of it a block should use where that leaves long enough loops.
constexpr int64_t kScratchBytes = 64 << 10;
constexpr int64_t kCachedBytes = 24 << 10;
constexpr int64_t kMinBlock = 64, kGoodBlock = 256, kMaxBlock = 2048;
// Shorter tensors never pay for a second thread.
constexpr int64_t kAlwaysOneThread = 1024;
constexpr double kCostOfRepeating = 0.05;
constexpr size_t kInlineRepeats = 12;

bool BroadcastsTo(const Shape& shape, const Shape& to) {
  if (shape.rank() > to.rank()) return false;
  for (int d = 1; d <= shape.rank(); ++d) {
    const int64_t size = shape.dim(shape.rank() - d);
    if (size != 1 && size != to.dim(to.rank() - d)) return false;
  }
  return true;
}

}  // namespace

// What one run knows of its arguments.
struct BlockProgram::Call {
  enum Fit : uint8_t { kNot, kRepeated, kWhole };
  struct Repeat {
    int arg;
    BroadcastMap map;
  };

  Shape shape;
  Fit fits[kMaxValues];                              // of arguments
  const char* from[kMaxValues];                      // of arguments
  char* to[kMaxValues];                              // of outputs
  absl::InlinedVector<int, kInlineRepeats> scalars;  // arguments with one element, which is repeated
  absl::InlinedVector<Repeat, kInlineRepeats> repeats;
  int64_t block = 0;

  int64_t num_buffers() const { return static_cast<int64_t>(scalars.size() + repeats.size()); }
};

// Of a step that reads arguments only.
bool BlockProgram::ShapeOfStep(const KernelContext& ctx, const Step& step, Shape* shape) const {
  *shape = ctx.input(step.operands[0]).shape();
  for (int i = 1; i < step.num_operands; ++i) {
    const Shape& other = ctx.input(step.operands[i]).shape();
    if (*shape == other) continue;
    if (!step.broadcasts) return false;
    if (other.num_elements() == 1 && other.rank() <= shape->rank()) continue;
    if (shape->num_elements() == 1 && shape->rank() <= other.rank()) {
      *shape = other;
      continue;
    }
    StatusOr<Shape> both = BroadcastShapes(*shape, other);
    if (!both.ok()) return false;
    *shape = *std::move(both);
  }
  return true;
}

// Whether the result of the step has the shape of the call, if those of the steps before it do.
bool BlockProgram::FitsShape(const KernelContext& ctx, const Step& step, const Call& call) const {
  bool whole = step.reads_values;
  for (int i = 0; i < step.num_operands; ++i) {
    const int arg = step.operands[i];
    if (arg >= num_args_) continue;
    const Call::Fit fit = call.fits[arg];
    if (fit == Call::kNot || (fit == Call::kRepeated && !step.broadcasts)) return false;
    whole |= fit == Call::kWhole;
  }
  Shape shape;
  return whole || (ShapeOfStep(ctx, step, &shape) && shape == call.shape);
}

// False if the shapes are not such that all steps have results of one.
bool BlockProgram::FitArgs(const KernelContext& ctx, Call* call) const {
  if (!ShapeOfStep(ctx, steps_[0], &call->shape)) return false;
  for (int i = 0; i < num_args_; ++i) {
    const Tensor& arg = ctx.input(i);
    call->from[i] = static_cast<const char*>(arg.raw());
    if (arg.shape() == call->shape)
      call->fits[i] = Call::kWhole;
    else
      call->fits[i] = BroadcastsTo(arg.shape(), call->shape) ? Call::kRepeated : Call::kNot;
  }
  for (const Step& step : steps_) {
    if (!FitsShape(ctx, step, *call)) return false;
  }
  if (call->shape.num_elements() == 0) return true;
  for (int i = 0; i < num_args_; ++i) {
    if (call->fits[i] != Call::kRepeated || values_[static_cast<size_t>(i)].last_read < 0) continue;
    const int64_t n = ctx.input(i).num_elements();
    if (n == call->shape.num_elements())  // dimensions of size 1 were added
      call->fits[i] = Call::kWhole;
    else if (n == 1)
      call->scalars.push_back(i);
    else
      call->repeats.push_back({i, BroadcastMap(ctx.input(i).shape(), call->shape)});
  }
  return true;
}

// False if blocks would be too short.
bool BlockProgram::ChooseBlock(Call* call) const {
  const int64_t n = call->shape.num_elements();
  const auto arrays = num_scratch_ + call->num_buffers();
  const int64_t bytes = std::max<int64_t>(arrays, 1) * max_size_;
  int64_t block = std::clamp(kCachedBytes / bytes, kGoodBlock, kMaxBlock);
  block = std::min(block, kScratchBytes / bytes) / kMinBlock * kMinBlock;
  call->block = std::min(block, (n + kMinBlock - 1) / kMinBlock * kMinBlock);
  return block >= kMinBlock;
}

Status BlockProgram::MakeOutputs(KernelContext& ctx, Call* call) const {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const auto taken = [&](int arg) { return call->fits[arg] == Call::kWhole && ctx.InputIsExclusive(arg); };
    const std::vector<int>& args = outputs_[i].may_take;
    const auto arg = std::find_if(args.begin(), args.end(), taken);
    const auto output = static_cast<int>(i);
    ASSIGN_OR_RETURN(Tensor * made, arg != args.end() ? ctx.ForwardOrAllocate({*arg}, output, call->shape)
                                                      : ctx.AllocateOutput(output, call->shape));
    call->to[i] = static_cast<char*>(made->raw());
  }
  return OkStatus();
}

bool BlockProgram::RunRange(const Call& call, int64_t begin, int64_t end) const {
  alignas(64) char scratch[kScratchBytes];
  const int64_t stride = call.block * max_size_;
  char* at[kMaxValues];  // of values, in this block
  for (size_t v = 0; v < values_.size(); ++v) {
    if (values_[v].place == Value::kScratch) at[v] = scratch + values_[v].index * stride;
  }
  char* buffer = scratch + num_scratch_ * stride;
  for (const int arg : call.scalars) {
    FillElements(call.from[arg], static_cast<size_t>(values_[static_cast<size_t>(arg)].size),
                 std::min(call.block, end - begin), buffer);
    at[arg] = buffer;
    buffer += stride;
  }
  absl::InlinedVector<BroadcastReader, kInlineRepeats> readers;
  for (const Call::Repeat& repeat : call.repeats) {
    const auto size = static_cast<size_t>(values_[static_cast<size_t>(repeat.arg)].size);
    readers.emplace_back(repeat.map, call.from[repeat.arg], size, buffer);
    buffer += stride;
  }
  bool ok = true;
  while (begin < end) {
    int64_t n = std::min(call.block, end - begin);
    for (const Call::Repeat& repeat : call.repeats) n = repeat.map.Chunk(begin, n);
    n = NextStretch(end - begin, n);
    for (size_t v = 0; v < values_.size(); ++v) {
      const Value& value = values_[v];
      if (value.place == Value::kArg && call.fits[v] == Call::kWhole)
        at[v] = const_cast<char*>(call.from[v]) + begin * value.size;
      else if (value.place == Value::kOutput)
        at[v] = call.to[value.index] + begin * value.size;
    }
    for (size_t r = 0; r < readers.size(); ++r) {
      at[call.repeats[r].arg] = static_cast<char*>(const_cast<void*>(readers[r].Read(begin, n)));
    }
    for (const Step& step : steps_) {
      const void* operands[3];
      for (int i = 0; i < step.num_operands; ++i) operands[i] = at[step.operands[i]];
      ok &= step.kernel->RunElements(operands, at[step.result], n);
    }
    begin += n;
  }
  return ok;
}

StatusOr<bool> BlockProgram::Run(KernelContext& ctx) const {
  Call call;
  if (!FitArgs(ctx, &call) || !ChooseBlock(&call)) return false;
  RETURN_IF_ERROR(MakeOutputs(ctx, &call));
  const int64_t n = call.shape.num_elements();
  bool ok = true;
  if (n <= kAlwaysOneThread) {
    ok = n == 0 || RunRange(call, 0, n);
  } else {
    std::atomic<bool> all_ok{true};
    ParallelElements(ctx, n, cost_ + kCostOfRepeating * static_cast<double>(call.num_buffers()),
                     [&](int64_t begin, int64_t end) {
                       if (!RunRange(call, begin, end)) all_ok = false;
                     });
    ok = all_ok;
  }
  if (!ok) return errors::InvalidArgument("some element has no result");
  return true;
}

}  // namespace millstream
