// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_OP_H_
#define MILLSTREAM_FRAMEWORK_OP_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "millstream/framework/kernel.h"
#include "millstream/framework/op_def.h"
#include "millstream/framework/shape_context.h"

namespace millstream {

class GradContext;  // millstream/graph/gradients/gradient.h

using ShapeFn = Status (*)(ShapeContext&);
using GradFn = Status (*)(GradContext&);
using KernelFactory = std::function<StatusOr<std::unique_ptr<Kernel>>(KernelInit&)>;

// One kernel of an op on one kind of device, for given values of type attributes.
struct KernelDef {
  std::string device_type;                                 // "CPU"
  std::vector<std::pair<std::string, DType>> constraints;  // all must hold
  std::vector<std::string> host_memory;                    // names of args that stay in host memory on any device
  KernelFactory factory;
  bool expensive = false;  // worth another thread
  bool async = false;      // may wait: an AsyncKernel
};

// What the executors, the placer and the rewrites ask of an op beside its signature: op_traits.h has the list.
enum class OpTrait : uint32_t;

// Everything known of an op. Registered before main(), read-only afterwards.
struct OpEntry {
  bool Has(OpTrait trait) const { return (traits & static_cast<uint32_t>(trait)) != 0; }

  OpDef def;
  const char* file = "";  // the source that declares it
  uint32_t traits = 0;
  ShapeFn shape = nullptr;
  GradFn grad = nullptr;
  bool not_differentiable = false;  // gradients stop here without an error
  std::vector<KernelDef> kernels;
};

class OpRegistry {
 public:
  static OpRegistry& Global();
  // Null if unknown.
  const OpEntry* Find(absl::string_view name) const;
  // NotFound, worded as TensorFlow's, if unknown.
  StatusOr<const OpEntry*> Lookup(absl::string_view name) const;
  std::vector<const OpEntry*> Sorted() const;
  // For registration only. REQUIRES: before threads start.
  OpEntry& Add(absl::string_view name);

 private:
  struct Map;
  Map& map() const;
};

// The kernel whose constraints fit `attrs`; NotFound, listing what is registered, if there is none.
StatusOr<const KernelDef*> FindKernel(const OpEntry& op, absl::string_view device_type, const AttrMap& attrs,
                                      absl::string_view node_name);

// Defines an op: OP("Relu").Input("features: T").Output("activations: T").Attr("T: realnumbertype")....
// Specs are in TensorFlow's notation: inputs "name: type", "name: T", "name: N * T", "name: Tlist", "name: Ref(T)";
// attrs "T: {float, double} = DT_FLOAT", "N: int >= 1", "strides: list(int)", "padding: {'SAME', 'VALID'}",
// "T: type", "T: numbertype", "T: realnumbertype", "shape: shape = { unknown_rank: true }".
// A malformed spec ends the program at start-up with a message: it is a mistake in our source.
class OpBuilder {
 public:
  explicit OpBuilder(const char* name, const char* file = __builtin_FILE());
  OpBuilder& Input(const char* spec);
  OpBuilder& Output(const char* spec);
  OpBuilder& Attr(const char* spec);
  OpBuilder& Shape(ShapeFn fn);
  OpBuilder& Gradient(GradFn fn);
  OpBuilder& NotDifferentiable();
  OpBuilder& Stateful();
  OpBuilder& Commutative();
  OpBuilder& Aggregate();
  OpBuilder& AllowsUninitializedInput();
  OpBuilder& Doc(const char* text);
  OpBuilder& Trait(OpTrait trait);
  // Writes a variable or another resource that other nodes may read in the same step.
  OpBuilder& Updates();
  // A kernel that may hold its thread for long: never runs on a thread that others wait for.
  OpBuilder& MayBlock();
  // What several ops have in common, as a function: OP("Relu").With(UnaryOp)....
  template <typename Fragment>
  OpBuilder& With(const Fragment& fragment) {
    fragment(*this);
    return *this;
  }

  // A kernel class with a constructor K(KernelInit&) (report errors through init.Fail()).
  template <typename K>
  OpBuilder& Cpu() {
    return AddKernel("CPU", {}, MakeFactory<K>(), std::is_base_of_v<AsyncKernel, K>);
  }
  // A kernel without state of its own: a plain function.
  OpBuilder& Cpu(Status (*fn)(KernelContext&));
  // One kernel class template, instantiated for each type of a list: .Cpu<Relu>(FloatTypes{}, "T").
  template <template <typename> class K, typename... Ts>
  OpBuilder& Cpu(Types<Ts...>, const char* attr = "T") {
    (AddKernel("CPU", {{attr, kDTypeOf<Ts>}}, MakeFactory<K<Ts>>(), std::is_base_of_v<AsyncKernel, K<Ts>>), ...);
    return *this;
  }
  // Two type attributes: .Cpu2<Gather>(Types<..>{}, "Tparams", IndexTypes{}, "Tindices") registers the product.
  template <template <typename, typename> class K, typename... As, typename... Bs>
  OpBuilder& Cpu2(Types<As...>, const char* a, Types<Bs...> bs, const char* b) {
    (Product<K, As>(a, bs, b), ...);
    return *this;
  }
  // An untyped kernel class, offered only for these types of an attribute.
  template <typename K, typename... Ts>
  OpBuilder& CpuFor(Types<Ts...>, const char* attr = "T") {
    (AddKernel("CPU", {{attr, kDTypeOf<Ts>}}, MakeFactory<K>(), std::is_base_of_v<AsyncKernel, K>), ...);
    return *this;
  }
  // The kernels registered so far are worth another thread (matrix products, convolutions, file access).
  OpBuilder& Expensive();
  // Args that are in host memory whatever the device (shapes, axes, file names).
  OpBuilder& HostMemory(const char* arg);

 private:
  template <typename K>
  static KernelFactory MakeFactory() {
    return [](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
      auto kernel = std::make_unique<K>(init);
      RETURN_IF_ERROR(init.status());
      return std::unique_ptr<Kernel>(std::move(kernel));
    };
  }
  template <template <typename, typename> class K, typename A, typename... Bs>
  void Product(const char* a, Types<Bs...>, const char* b) {
    (AddKernel("CPU", {{a, kDTypeOf<A>}, {b, kDTypeOf<Bs>}}, MakeFactory<K<A, Bs>>(), false), ...);
  }
  OpBuilder& AddKernel(const char* device, std::vector<std::pair<std::string, DType>> constraints,
                       KernelFactory factory, bool async);

  OpEntry* entry_;
};

#define OP(name) OP_IMPL_(name, __COUNTER__)
#define OP_IMPL_(name, n) OP_IMPL2_(name, n)
#define OP_IMPL2_(name, n) \
  [[maybe_unused]] static const ::millstream::OpBuilder op_registration_##n = ::millstream::OpBuilder(name)

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_H_
