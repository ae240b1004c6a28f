// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"
#include "millstream/ops/quantized/quantized.h"

namespace millstream {
namespace {

// Codes at least that of zero and, with six, at most that of 6. The range stays as it is.
template <bool six>
class QuantizedRelu final : public Kernel {
 public:
  explicit QuantizedRelu(KernelInit& init) { RequireType(init, "out_type", init.input_types()[0]); }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const float low, RangeInput(ctx, 1, "min_input"));
    ASSIGN_OR_RETURN(const float high, RangeInput(ctx, 2, "max_input"));
    ASSIGN_OR_RETURN(Tensor * out, ctx.ForwardOrAllocate({0}, 0, ctx.input(0).shape()));
    DispatchQuantized(out->dtype(), [&](auto type) {
      using T = typename decltype(type)::type;
      const QuantizedRange<T> codes(low, high);
      const T least = codes.FromFloat(0), most = six ? codes.FromFloat(6) : std::numeric_limits<T>::max();
      const T* x = Integers<T>(ctx.input(0));
      T* y = Integers<T>(out);
      ctx.ParallelFor(out->num_elements(), 0.3, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = std::min(std::max(x[i], least), most);
      });
    });
    return OutputRange(ctx, 1, low, high);
  }
};

template <int ranges>
Status QuantizedReluShape(ShapeContext& c) {
  c.set_output(0, c.input(0));
  return ScalarRanges(c, 1, ranges);
}

#define QUANTIZED_RELU(Name, six, doc)                                        \
  OP(Name)                                                                    \
      .Input("features: Tinput")                                              \
      .Input("min_features: float")                                           \
      .Input("max_features: float")                                           \
      .Output("activations: out_type")                                        \
      .Output("min_activations: float")                                       \
      .Output("max_activations: float")                                       \
      .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")               \
      .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8") \
      .Shape(QuantizedReluShape<2>)                                           \
      .NotDifferentiable()                                                    \
      .CpuFor<QuantizedRelu<six>>(Types<Qint32, Quint8>{}, "Tinput")          \
      .Doc(doc)

QUANTIZED_RELU("QuantizedRelu", false, "Quantized numbers, and zero in place of negative ones.");
QUANTIZED_RELU("QuantizedRelu6", true, "Quantized numbers between 0 and 6.");
#undef QUANTIZED_RELU

// TensorFlow has no kernel for it.
OP("QuantizedReluX")
    .Input("features: Tinput")
    .Input("max_value: float")
    .Input("min_features: float")
    .Input("max_features: float")
    .Output("activations: out_type")
    .Output("min_activations: float")
    .Output("max_activations: float")
    .Attr("Tinput: {qint8, quint8, qint32, qint16, quint16}")
    .Attr("out_type: {qint8, quint8, qint32, qint16, quint16} = DT_QUINT8")
    .Shape(QuantizedReluShape<3>)
    .NotDifferentiable()
    .Doc("Quantized numbers between 0 and a value.");

}  // namespace
}  // namespace millstream
