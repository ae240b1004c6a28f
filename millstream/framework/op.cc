// SPDX-License-Identifier: Apache-2.0
#include "millstream/framework/op.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "absl/strings/str_join.h"
#include "millstream/framework/op_spec.h"
#include "millstream/framework/op_traits.h"
#include "millstream/framework/recorded_value.h"

namespace millstream {

struct OpRegistry::Map {
  std::map<std::string, OpEntry, std::less<>> ops;
};

OpRegistry& OpRegistry::Global() {
  static OpRegistry registry;
  return registry;
}

OpRegistry::Map& OpRegistry::map() const {
  static auto* map = new Map;  // made on first use: registrations of other files come in any order
  return *map;
}

const OpEntry* OpRegistry::Find(absl::string_view name) const {
  const auto& ops = map().ops;
  auto it = ops.find(std::string(name));
  return it == ops.end() ? nullptr : &it->second;
}

StatusOr<const OpEntry*> OpRegistry::Lookup(absl::string_view name) const {
  if (const OpEntry* entry = Find(name)) return entry;
  return errors::NotFound(
      "Op type not registered '", name,
      "' in this Millstream binary. Check the spelling, or see docs/ops.md for the ops that exist.");
}

std::vector<const OpEntry*> OpRegistry::Sorted() const {
  std::vector<const OpEntry*> entries;
  for (const auto& [name, entry] : map().ops) entries.push_back(&entry);
  return entries;
}

OpEntry& OpRegistry::Add(absl::string_view name) { return map().ops[std::string(name)]; }

namespace {

bool Fits(const KernelDef& kernel, const AttrMap& attrs) {
  for (const auto& [name, type] : kernel.constraints) {
    const AttrValue* value = attrs.Find(name);
    const DType* found = value == nullptr ? nullptr : value->get<DType>();
    if (found == nullptr || *found != type) return false;
  }
  return true;
}

std::string Describe(const OpEntry& op) {
  std::vector<std::string> lines;
  for (const KernelDef& k : op.kernels) {
    std::vector<std::string> types;
    for (const auto& [name, type] : k.constraints) types.push_back(absl::StrCat(name, " in [", DTypeName(type), "]"));
    lines.push_back(
        absl::StrCat("  device='", k.device_type, "'", types.empty() ? "" : "; ", absl::StrJoin(types, "; ")));
  }
  return lines.empty() ? "  <no registered kernels>" : absl::StrJoin(lines, "\n");
}

[[noreturn]] void BadSpec(const std::string& op, const char* spec, const Status& status) {
  std::fprintf(stderr, "op %s: bad spec '%s': %s\n", op.c_str(), spec, std::string(status.message()).c_str());
  std::abort();
}

class FunctionKernel final : public Kernel {
 public:
  explicit FunctionKernel(Status (*fn)(KernelContext&)) : fn_(fn) {}
  Status Compute(KernelContext& ctx) override { return fn_(ctx); }

 private:
  Status (*const fn_)(KernelContext&);
};

}  // namespace

StatusOr<const KernelDef*> FindKernel(const OpEntry& op, absl::string_view device_type, const AttrMap& attrs,
                                      absl::string_view node_name) {
  for (const KernelDef& kernel : op.kernels) {
    if (kernel.device_type == device_type && Fits(kernel, attrs)) return &kernel;
  }
  const auto spell = [](std::string* out, const AttrMap::Entry& attr) {
    absl::StrAppend(out, attr.first, "=", attr.second.ToString());
  };
  return errors::InvalidArgument("No OpKernel was registered to support Op '", op.def.name, "' used by {{node ",
                                 node_name, "}} with these attrs: [", absl::StrJoin(attrs, ", ", spell),
                                 "]\nRegistered devices: [", device_type, "]\nRegistered kernels:\n", Describe(op));
}

OpBuilder::OpBuilder(const char* name, const char* file) : entry_(&OpRegistry::Global().Add(name)) {
  if (!entry_->def.name.empty()) BadSpec(name, "", errors::AlreadyExists("the op is defined twice"));
  entry_->def.name = name;
  entry_->file = file;
}

OpBuilder& OpBuilder::Input(const char* spec) {
  auto arg = ParseArgSpec(spec);
  if (!arg.ok()) BadSpec(entry_->def.name, spec, arg.status());
  entry_->def.inputs.push_back(*std::move(arg));
  ResolveArgs(&entry_->def);
  return *this;
}

OpBuilder& OpBuilder::Output(const char* spec) {
  auto arg = ParseArgSpec(spec);
  if (!arg.ok()) BadSpec(entry_->def.name, spec, arg.status());
  entry_->def.outputs.push_back(*std::move(arg));
  ResolveArgs(&entry_->def);
  return *this;
}

OpBuilder& OpBuilder::Attr(const char* spec) {
  auto attr = ParseAttrSpec(spec);
  if (!attr.ok()) BadSpec(entry_->def.name, spec, attr.status());
  if (attr->type == "func" || attr->type == "list(func)") MayBlock();  // nobody knows what is called
  entry_->def.attrs.push_back(*std::move(attr));
  // Args may come before the attrs they name: "inputs: Tlist" could not be told from "inputs: T" when it was read.
  ResolveArgs(&entry_->def);
  return *this;
}

OpBuilder& OpBuilder::Shape(ShapeFn fn) {
  entry_->shape = fn;
  return *this;
}
OpBuilder& OpBuilder::Gradient(GradFn fn) {
  entry_->grad = fn;
  return *this;
}
OpBuilder& OpBuilder::NotDifferentiable() {
  entry_->not_differentiable = true;
  return *this;
}
OpBuilder& OpBuilder::Stateful() {
  entry_->def.stateful = true;
  return *this;
}
OpBuilder& OpBuilder::Commutative() {
  entry_->def.commutative = true;
  return *this;
}
OpBuilder& OpBuilder::Aggregate() {
  entry_->def.aggregate = true;
  return *this;
}
OpBuilder& OpBuilder::AllowsUninitializedInput() {
  entry_->def.allows_uninitialized_input = true;
  return *this;
}
OpBuilder& OpBuilder::Trait(OpTrait trait) {
  entry_->traits |= static_cast<uint32_t>(trait);
  return *this;
}

OpBuilder& OpBuilder::Updates() { return Trait(OpTrait::kUpdates); }

OpBuilder& OpBuilder::MayBlock() { return Trait(OpTrait::kMayBlock); }

OpBuilder& OpBuilder::Doc(const char* text) {
  entry_->def.doc = text;
  return *this;
}

OpBuilder& OpBuilder::Cpu(Status (*fn)(KernelContext&)) {
  return AddKernel(
      "CPU", {},
      [fn](KernelInit&) -> StatusOr<std::unique_ptr<Kernel>> {
        return std::unique_ptr<Kernel>(std::make_unique<FunctionKernel>(fn));
      },
      false);
}

OpBuilder& OpBuilder::Expensive() {
  for (KernelDef& kernel : entry_->kernels) kernel.expensive = true;
  return *this;
}

OpBuilder& OpBuilder::HostMemory(const char* arg) {
  for (KernelDef& kernel : entry_->kernels) kernel.host_memory.emplace_back(arg);
  return *this;
}

OpBuilder& OpBuilder::AddKernel(const char* device, std::vector<std::pair<std::string, DType>> constraints,
                                KernelFactory factory, bool async) {
  KernelDef kernel;
  kernel.device_type = device;
  kernel.constraints = std::move(constraints);
  kernel.factory = [factory = std::move(factory)](KernelInit& init) -> StatusOr<std::unique_ptr<Kernel>> {
    ASSIGN_OR_RETURN(std::unique_ptr<Kernel> made, factory(init));
    return WithRecords(init, std::move(made));
  };
  kernel.async = async;
  entry_->kernels.push_back(std::move(kernel));
  return *this;
}

}  // namespace millstream
