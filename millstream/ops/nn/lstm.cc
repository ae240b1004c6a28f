// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/graph/gradients/gradient.h"
#include "millstream/math/gemm/gemm.h"
#include "millstream/ops/elements/as_float.h"
#include "millstream/ops/nn/lstm_cell.h"

namespace millstream {
namespace {

// Sizes beyond it are refused, so that products of two can be counted.
constexpr int64_t kLargest = int64_t{1} << 30;

// What the ops have in common: inputs as floats, and their sizes checked. The first of them is number `x`; cs_prev,
// h_prev, w, wci, wcf, wco and b follow.
class LstmInputs {
 public:
  Status Read(KernelContext& ctx, int x, bool sequence, LstmCell cell) {
    constexpr const char* kNames[] = {"x", "cs_prev", "h_prev", "w", "wci", "wcf", "wco", "b"};
    const int ranks[] = {sequence ? 3 : 2, 2, 2, 2, 1, 1, 1, 1};
    for (int i = 0; i < 8; ++i) {
      const Tensor& in = ctx.input(x + i);
      if (in.rank() != ranks[i]) {
        return errors::InvalidArgument(kNames[i], " must be ", ranks[i], "D, got shape ", in.shape().ToString());
      }
      ASSIGN_OR_RETURN(tensors_[i], AsFloat(ctx, in));
    }
    cell_ = cell;
    steps_ = sequence ? tensors_[0].dim(0) : 1;
    cell_.batch = tensors_[0].dim(sequence ? 1 : 0);
    cell_.input = tensors_[0].dim(sequence ? 2 : 1);
    cell_.cell = tensors_[1].dim(1);
    const int64_t n = cell_.cell;
    if (std::max({cell_.batch, cell_.input, n}) > kLargest) return errors::InvalidArgument("cell is too large");
    RETURN_IF_ERROR(Shape::Make({{steps_, cell_.batch, n}}).status());
    RETURN_IF_ERROR(Expect(1, Shape({cell_.batch, n}), "cs_prev"));
    RETURN_IF_ERROR(Expect(2, Shape({cell_.batch, n}), "h_prev"));
    if (!sequence && (cell_.batch == 0 || n == 0)) {
      return errors::InvalidArgument("cs_prev_tensor is empty, has shape: (", cell_.batch, ",", n, ").");
    }
    RETURN_IF_ERROR(Expect(3, Shape({cell_.input + n, 4 * n}), "w"));
    for (int i = 4; i < 7; ++i) RETURN_IF_ERROR(Expect(i, Shape({n}), kNames[i]));
    RETURN_IF_ERROR(Expect(7, Shape({4 * n}), "b"));
    cell_.w = data(3);
    cell_.wci = data(4);
    cell_.wcf = data(5);
    cell_.wco = data(6);
    cell_.b = data(7);
    return OkStatus();
  }

  const LstmCell& cell() const { return cell_; }
  int64_t steps() const { return steps_; }
  const float* data(int i) const { return tensors_[i].data<float>(); }
  // [time, batch, cell], or without time.
  Shape StateShape(bool sequence) const {
    return sequence ? Shape({steps_, cell_.batch, cell_.cell}) : Shape({cell_.batch, cell_.cell});
  }
  // What comes in at step t of a sequence whose states are in cs and h.
  LstmCell::Before BeforeStep(int64_t t, const float* cs, const float* h) const {
    const int64_t size = cell_.batch * cell_.cell;
    const float* x = data(0) + t * cell_.batch * cell_.input;
    if (t == 0) return {x, data(1), data(2)};
    return {x, cs + (t - 1) * size, h + (t - 1) * size};
  }

 private:
  Status Expect(int i, const Shape& shape, const char* name) const {
    if (tensors_[i].shape() == shape) return OkStatus();
    return errors::InvalidArgument(name, " must have the shape ", shape.ToString(), ", got ",
                                   tensors_[i].shape().ToString());
  }
  Tensor tensors_[8];
  LstmCell cell_;
  int64_t steps_ = 1;
};

// How many steps of a sequence are computed.
StatusOr<int64_t> ReadLength(const Tensor& t, int64_t steps) {
  if (t.rank() != 0) return errors::InvalidArgument("`seq_len_max_tensor` must be rank 0 but is rank ", t.rank());
  const int64_t length = t.scalar<int64_t>();
  if (length < 0) return errors::InvalidArgument("seq_len_max must be >= 0: ", length);
  if (length <= steps) return length;
  return errors::InvalidArgument("seq_len_max must be <= timelen (x.dim_size(0)): ", length, " vs. ", steps);
}

LstmCell ReadOptions(KernelInit& init) {
  LstmCell cell;
  cell.peephole = init.Attr<bool>("use_peephole");
  if (init.HasAttr("forget_bias")) cell.forget_bias = init.Attr<float>("forget_bias");
  if (init.HasAttr("cell_clip")) cell.clip = init.Attr<float>("cell_clip");
  cell.forget_second = init.op().name == "BlockLSTMV2" || init.op().name == "BlockLSTMGradV2";
  return cell;
}

// The states are outputs: i, cs, f, o, ci, co, h.
template <bool sequence>
class LstmForward final : public Kernel {
 public:
  explicit LstmForward(KernelInit& init) : options_(ReadOptions(init)) {}

  Status Compute(KernelContext& ctx) override {
    LstmInputs in;
    RETURN_IF_ERROR(in.Read(ctx, sequence ? 1 : 0, sequence, options_));
    int64_t length = 1;
    if (sequence) {
      ASSIGN_OR_RETURN(length, ReadLength(ctx.input(0), in.steps()));
    }
    Tensor* out[7];
    Tensor wide[7];
    float* data[7];
    for (int i = 0; i < 7; ++i) {
      ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, in.StateShape(sequence)));
      ASSIGN_OR_RETURN(wide[i], FloatFor(ctx, out[i]));
      data[i] = wide[i].data<float>();
    }
    const int64_t size = in.cell().batch * in.cell().cell;
    for (int64_t t = 0; t < length; ++t) {
      const int64_t at = t * size;
      in.cell().Forward(
          in.BeforeStep(t, data[1], data[6]),
          {data[0] + at, data[1] + at, data[2] + at, data[3] + at, data[4] + at, data[5] + at, data[6] + at},
          ctx.pool());
    }
    for (int i = 0; i < 7; ++i) {
      std::fill_n(data[i] + length * size, (in.steps() - length) * size, 0.0f);
      StoreFloat(ctx, wide[i], out[i]);
    }
    return OkStatus();
  }

 private:
  const LstmCell options_;
};

// Inputs after b: the states, then the gradients of cs and h.
class StateInputs {
 public:
  // `count` states from input `first` on, all of one shape.
  Status Read(KernelContext& ctx, int first, int count, const Shape& shape) {
    for (int i = 0; i < count; ++i) {
      if (!(ctx.input(first + i).shape() == shape)) {
        return errors::InvalidArgument("input ", first + i, " must have the shape ", shape.ToString(), ", got ",
                                       ctx.input(first + i).shape().ToString());
      }
      ASSIGN_OR_RETURN(tensors_[i], AsFloat(ctx, ctx.input(first + i)));
    }
    return OkStatus();
  }
  // The kernels of the cell read states through pointers to what they would write.
  float* at(int i, int64_t offset) const { return const_cast<float*>(tensors_[i].data<float>()) + offset; }

 private:
  Tensor tensors_[9];
};

class LstmCellGrad final : public Kernel {
 public:
  explicit LstmCellGrad(KernelInit& init) : options_(ReadOptions(init)) {}

  Status Compute(KernelContext& ctx) override {
    LstmInputs in;
    RETURN_IF_ERROR(in.Read(ctx, 0, false, options_));
    StateInputs s;  // i, cs, f, o, ci, co, cs_grad, h_grad
    RETURN_IF_ERROR(s.Read(ctx, 8, 8, in.StateShape(false)));
    const LstmCell& cell = in.cell();
    const Shape shapes[] = {in.StateShape(false), Shape({cell.batch, 4 * cell.cell}), Shape({cell.cell}),
                            Shape({cell.cell}), Shape({cell.cell})};
    Tensor* out[5];
    Tensor wide[5];
    for (int i = 0; i < 5; ++i) {
      ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, shapes[i]));
      ASSIGN_OR_RETURN(wide[i], FloatFor(ctx, out[i]));
      std::fill_n(wide[i].data<float>(), wide[i].num_elements(), 0.0f);
    }
    cell.Backward(in.BeforeStep(0, nullptr, nullptr),
                  {s.at(0, 0), s.at(1, 0), s.at(2, 0), s.at(3, 0), s.at(4, 0), s.at(5, 0), nullptr}, s.at(6, 0),
                  s.at(7, 0), wide[1].data<float>(), wide[0].data<float>(),
                  {wide[2].data<float>(), wide[3].data<float>(), wide[4].data<float>()});
    for (int i = 0; i < 5; ++i) StoreFloat(ctx, wide[i], out[i]);
    return OkStatus();
  }

 private:
  const LstmCell options_;
};

class BlockLstmGrad final : public Kernel {
 public:
  explicit BlockLstmGrad(KernelInit& init) : options_(ReadOptions(init)) {}

  Status Compute(KernelContext& ctx) override {
    LstmInputs in;
    RETURN_IF_ERROR(in.Read(ctx, 1, true, options_));
    ASSIGN_OR_RETURN(const int64_t length, ReadLength(ctx.input(0), in.steps()));
    StateInputs s;  // i, cs, f, o, ci, co, h, cs_grad, h_grad
    RETURN_IF_ERROR(s.Read(ctx, 9, 9, in.StateShape(true)));
    Tensor* out[8];  // as the inputs from x to b
    Tensor wide[8];
    float* grads[8];
    for (int i = 0; i < 8; ++i) {
      ASSIGN_OR_RETURN(out[i], ctx.AllocateOutput(i, ctx.input(i + 1).shape()));
      ASSIGN_OR_RETURN(wide[i], FloatFor(ctx, out[i]));
      grads[i] = wide[i].data<float>();
      std::fill_n(grads[i], wide[i].num_elements(), 0.0f);
    }
    for (int64_t t = length - 1; t >= 0; --t) Step(ctx, in, s, t, grads);
    for (int i = 0; i < 8; ++i) StoreFloat(ctx, wide[i], out[i]);
    return OkStatus();
  }

 private:
  // grads: x, cs_prev, h_prev, w, wci, wcf, wco, b. Those of cs_prev and h_prev come from the step after.
  static void Step(KernelContext& ctx, const LstmInputs& in, const StateInputs& s, int64_t t, float* const* grads) {
    const LstmCell& cell = in.cell();
    const int64_t size = cell.batch * cell.cell, at = t * size, width = cell.input + cell.cell;
    const LstmCell::Before before = in.BeforeStep(t, s.at(1, 0), s.at(6, 0));
    std::vector<float> dcs(grads[1], grads[1] + size), dh(grads[2], grads[2] + size);
    for (int64_t k = 0; k < size; ++k) {
      dcs[k] += s.at(7, at)[k];
      dh[k] += s.at(8, at)[k];
    }
    std::vector<float> dgates(static_cast<size_t>(4 * size)), dxh(static_cast<size_t>(cell.batch * width));
    cell.Backward(before, {s.at(0, at), s.at(1, at), s.at(2, at), s.at(3, at), s.at(4, at), s.at(5, at), nullptr},
                  dcs.data(), dh.data(), dgates.data(), grads[1], {grads[4], grads[5], grads[6]});
    math::GemmArgs<float> product;
    product.m = cell.batch;
    product.n = width;
    product.k = 4 * cell.cell;
    product.a = dgates.data();
    product.b = cell.w;
    product.trans_b = true;
    product.c = dxh.data();
    math::Gemm(product, ctx.pool());
    for (int64_t r = 0; r < cell.batch; ++r) {
      std::copy_n(&dxh[r * width], cell.input, grads[0] + (t * cell.batch + r) * cell.input);
      std::copy_n(&dxh[r * width + cell.input], cell.cell, grads[2] + r * cell.cell);
      for (int64_t c = 0; c < 4 * cell.cell; ++c) grads[7][c] += dgates[r * 4 * cell.cell + c];
    }
    const std::vector<float> xh = cell.Joined(before);
    math::GemmArgs<float> weights;
    weights.m = width;
    weights.n = 4 * cell.cell;
    weights.k = cell.batch;
    weights.a = xh.data();
    weights.trans_a = true;
    weights.b = dgates.data();
    weights.c = grads[3];
    weights.accumulate = true;
    math::Gemm(weights, ctx.pool());
  }

  const LstmCell options_;
};

Status SequenceShape(ShapeContext& c) {
  PartialShape x, b;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 3, &x));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(8), 1, &b));
  const int64_t cell = b.dim(0) < 0 ? -1 : b.dim(0) / 4;
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape({x.dim(0), x.dim(1), cell}));
  return OkStatus();
}
Status CellShape(ShapeContext& c) {
  PartialShape x, last;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &x));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &last));
  for (int i = 0; i < c.num_outputs(); ++i) c.set_output(i, PartialShape({x.dim(0), last.dim(1)}));
  return OkStatus();
}
Status CellGradShape(ShapeContext& c) {
  PartialShape x, last;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 2, &x));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 2, &last));
  const int64_t cell = last.dim(1);
  c.set_output(0, PartialShape({x.dim(0), cell}));
  c.set_output(1, PartialShape({x.dim(0), cell < 0 ? -1 : 4 * cell}));
  for (int i = 2; i < 5; ++i) c.set_output(i, PartialShape({cell}));
  return OkStatus();
}
Status SequenceGradShape(ShapeContext& c) {
  for (int i = 0; i < 8; ++i) c.set_output(i, c.input(i + 1));
  return OkStatus();
}

// Inputs 1 to 8 have gradients. Only h, the last output, and cs carry some.
Status SequenceGradient(GradContext& g, const char* type) {
  std::vector<Output> inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(g.input(i));
  for (int i = 0; i < 7; ++i) inputs.push_back(g.output(i));
  inputs.push_back(g.dy(1));
  inputs.push_back(g.dy(6));
  Node* grad = g.Add(type, inputs, {{"use_peephole", g.Attr<bool>("use_peephole")}});
  if (grad == nullptr) return g.status();
  for (int i = 0; i < 8; ++i) g.set_dx(i + 1, Output(grad, i));
  return g.status();
}
Status BlockLstmGradient(GradContext& g) { return SequenceGradient(g, "BlockLSTMGrad"); }
Status BlockLstmGradientV2(GradContext& g) { return SequenceGradient(g, "BlockLSTMGradV2"); }

void AddInputs(OpBuilder& op, bool sequence) {
  if (sequence) op.Input("seq_len_max: int64");
  for (const char* spec : {"x: T", "cs_prev: T", "h_prev: T", "w: T", "wci: T", "wcf: T", "wco: T", "b: T"}) {
    op.Input(spec);
  }
}
using LstmTypes = Types<Half, float>;

template <bool sequence>
OpBuilder Forward(const char* name, const char* forget_bias, const char* clip, GradFn gradient) {
  OpBuilder op(name);
  AddInputs(op, sequence);
  for (const char* spec : {"i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T"}) op.Output(spec);
  if (forget_bias != nullptr) op.Attr(forget_bias);
  op.Attr(clip).Attr("use_peephole: bool = false").Attr("T: {half, float}");
  op.Shape(sequence ? SequenceShape : CellShape).CpuFor<LstmForward<sequence>>(LstmTypes{}).Expensive();
  if (gradient != nullptr) op.Gradient(gradient);
  return op.Doc("A long short-term memory, for one step or a sequence, with all that its gradient needs.");
}
OpBuilder Backward(const char* name) {
  OpBuilder op(name);
  AddInputs(op, true);
  for (const char* spec : {"i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "h: T", "cs_grad: T", "h_grad: T"}) {
    op.Input(spec);
  }
  for (const char* spec : {"x_grad: T", "cs_prev_grad: T", "h_prev_grad: T", "w_grad: T", "wci_grad: T", "wcf_grad: T",
                           "wco_grad: T", "b_grad: T"}) {
    op.Output(spec);
  }
  op.Attr("use_peephole: bool").Attr("T: {half, float}").Shape(SequenceGradShape).CpuFor<BlockLstmGrad>(LstmTypes{});
  return op.Expensive().Doc("The gradient of a long short-term memory over a sequence.");
}

const OpBuilder kCell = Forward<false>("LSTMBlockCell", "forget_bias: float = 1.0", "cell_clip: float = 3.0", nullptr);
const OpBuilder kBlock =
    Forward<true>("BlockLSTM", "forget_bias: float = 1.0", "cell_clip: float = 3.0", BlockLstmGradient);
const OpBuilder kBlockV2 = Forward<true>("BlockLSTMV2", nullptr, "cell_clip: float = 0.0", BlockLstmGradientV2);
const OpBuilder kBlockGrad = Backward("BlockLSTMGrad");
const OpBuilder kBlockGradV2 = Backward("BlockLSTMGradV2");

OpBuilder CellBackward() {
  OpBuilder op("LSTMBlockCellGrad");
  AddInputs(op, false);
  for (const char* spec : {"i: T", "cs: T", "f: T", "o: T", "ci: T", "co: T", "cs_grad: T", "h_grad: T"})
    op.Input(spec);
  for (const char* spec : {"cs_prev_grad: T", "dicfo: T", "wci_grad: T", "wcf_grad: T", "wco_grad: T"}) op.Output(spec);
  op.Attr("use_peephole: bool").Attr("T: {half, float}").Shape(CellGradShape).CpuFor<LstmCellGrad>(LstmTypes{});
  return op.Doc("The gradient of one step of a long short-term memory.");
}
const OpBuilder kCellGrad = CellBackward();

}  // namespace
}  // namespace millstream
