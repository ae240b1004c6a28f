// SPDX-License-Identifier: Apache-2.0
#include "millstream/graph/functions/function_library.h"

#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "millstream/framework/intern.h"
#include "millstream/graph/attr_proto.h"
#include "millstream/proto/function.pb.h"

namespace millstream {
namespace {

// Equal messages give equal bytes: maps are written in order of their keys.
std::string Canonical(const proto::FunctionDef& def) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  def.SerializeToCodedStream(&out);
  out.Trim();
  return bytes;
}

StatusOr<std::shared_ptr<const Function>> MakeFunction(proto::FunctionDef def) {
  const std::string& name = def.signature().name();
  if (name.empty()) return errors::InvalidArgument("Cannot add a function without a name");
  if (OpRegistry::Global().Find(name) != nullptr) {
    return errors::InvalidArgument("Cannot add function '", name, "' because an op with the same name already exists.");
  }
  auto function = std::make_shared<Function>();
  StatusOr<OpDef> signature = OpDefFromProto(def.signature());
  if (!signature.ok()) return WithContext(signature.status(), absl::StrCat("Function '", name, "'"));
  for (const AttrDef& attr : signature->attrs) RETURN_IF_ERROR(CheckMayIntern(attr.name));
  function->signature = *std::move(signature);
  function->def = std::make_shared<const proto::FunctionDef>(std::move(def));
  return std::shared_ptr<const Function>(std::move(function));
}

}  // namespace

Status FunctionLibrary::AddLibrary(const proto::FunctionDefLibrary& library, std::vector<std::string>* added) {
  Functions fresh;
  Gradients gradients;
  MutexLock lock(mu_);
  for (const auto& def : library.function()) {
    const std::string& name = def.signature().name();
    auto known = functions_.find(name);
    const bool is_known = known != functions_.end();
    if (!is_known) known = fresh.find(name);
    if (is_known || known != fresh.end()) {
      if (Canonical(*known->second->def) == Canonical(def)) continue;
      return errors::InvalidArgument("Cannot add function '", name,
                                     "' because a different function with the same name already exists.");
    }
    ASSIGN_OR_RETURN(auto function, MakeFunction(def));
    fresh.emplace(name, std::move(function));
  }
  for (const auto& gradient : library.gradient()) {
    const auto known = gradients_.find(gradient.function_name());
    const auto again = gradients.emplace(gradient.function_name(), gradient.gradient_func());
    const std::string& first = known != gradients_.end() ? known->second : again.first->second;
    if (first != gradient.gradient_func()) {
      return errors::InvalidArgument("Cannot assign gradient function '", gradient.gradient_func(), "' to '",
                                     gradient.function_name(), "' because it already has gradient function '", first,
                                     "'");
    }
  }
  if (added != nullptr)
    for (const auto& [name, function] : fresh) added->push_back(name);
  functions_.merge(fresh);
  gradients_.merge(gradients);
  return OkStatus();
}

Status FunctionLibrary::Add(proto::FunctionDef def) {
  proto::FunctionDefLibrary library;
  *library.add_function() = std::move(def);
  return AddLibrary(library);
}

void FunctionLibrary::Remove(const std::vector<std::string>& names) {
  MutexLock lock(mu_);
  for (const std::string& name : names) {
    functions_.erase(name);
    gradients_.erase(name);
  }
}

std::shared_ptr<const Function> FunctionLibrary::Find(absl::string_view name) const {
  MutexLock lock(mu_);
  const auto it = functions_.find(std::string(name));
  return it == functions_.end() ? nullptr : it->second;
}

std::string FunctionLibrary::GradientOf(absl::string_view name) const {
  MutexLock lock(mu_);
  const auto it = gradients_.find(std::string(name));
  return it == gradients_.end() ? "" : it->second;
}

std::vector<std::string> FunctionLibrary::Names() const {
  MutexLock lock(mu_);
  std::vector<std::string> names;
  for (const auto& [name, function] : functions_) names.push_back(name);
  return names;
}

void FunctionLibrary::ToProto(proto::FunctionDefLibrary* proto) const {
  MutexLock lock(mu_);
  proto->Clear();
  for (const auto& [name, function] : functions_) *proto->add_function() = *function->def;
  for (const auto& [name, gradient] : gradients_) {
    auto* to = proto->add_gradient();
    to->set_function_name(name);
    to->set_gradient_func(gradient);
  }
}

}  // namespace millstream
