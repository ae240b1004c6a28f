// SPDX-License-Identifier: Apache-2.0
// Writes what the op registry knows: C++ builders, the op table of the documentation, and the list of op names.
//   opgen builders > ops.h
//   opgen docs > ops.md
//   opgen names > tests/registered_ops.txt
//   opgen sources            # op and file, one pair a line
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "millstream/framework/op.h"

namespace millstream {
namespace {

const std::map<std::string, std::string>& CppTypes() {
  static const auto* types = new std::map<std::string, std::string>{{"int", "int64_t"},
                                                                    {"float", "float"},
                                                                    {"bool", "bool"},
                                                                    {"string", "std::string"},
                                                                    {"type", "DType"},
                                                                    {"shape", "PartialShape"},
                                                                    {"tensor", "Tensor"},
                                                                    {"func", "NameAttrList"},
                                                                    {"list(int)", "std::vector<int64_t>"},
                                                                    {"list(float)", "std::vector<float>"},
                                                                    {"list(bool)", "std::vector<bool>"},
                                                                    {"list(string)", "std::vector<std::string>"},
                                                                    {"list(type)", "std::vector<DType>"},
                                                                    {"list(shape)", "std::vector<PartialShape>"},
                                                                    {"list(tensor)", "std::vector<Tensor>"},
                                                                    {"list(func)", "std::vector<NameAttrList>"}};
  return *types;
}

// A name that is no C++ keyword and no argument of every builder.
std::string Safe(const std::string& name) {
  static const std::set<std::string> kTaken = {"and", "or",    "not",   "switch", "default", "template", "delete",
                                               "new", "enum",  "scope", "attrs",  "all",     "bool",     "float",
                                               "int", "const", "for",   "while",  "this"};
  return kTaken.contains(name) ? name + "_" : name;
}

std::string DTypeLiteral(DType t) {
  return absl::StrCat("DType::k", std::string(1, absl::ascii_toupper(DTypeName(t)[0])), DTypeName(t).substr(1));
}

template <typename T, typename Show>
std::string List(const std::vector<T>& values, Show show) {
  std::vector<std::string> items;
  for (const auto& v : values) items.push_back(show(v));
  return absl::StrCat("{", absl::StrJoin(items, ", "), "}");
}

std::string Quoted(const std::string& s) { return absl::StrCat("\"", absl::CEscape(s), "\""); }

std::string Literal(const AttrDef& attr) {
  const AttrValue& v = attr.default_value;
  if (const auto* b = v.get<bool>()) return *b ? "true" : "false";
  if (const auto* i = v.get<int64_t>()) return absl::StrCat(*i);
  if (const auto* f = v.get<float>()) return absl::StrCat("static_cast<float>(", *f, ")");
  if (const auto* t = v.get<DType>()) return DTypeLiteral(*t);
  if (const auto* s = v.get<std::string>()) return Quoted(*s);
  if (const auto* s = v.get<PartialShape>()) {
    if (!s->rank_known()) return "PartialShape::Unknown()";
    return absl::StrCat("PartialShape(std::vector<int64_t>{", absl::StrJoin(s->dims(), ", "), "})");
  }
  if (const auto* l = v.get<AttrValue::Ints>()) return List(*l, [](int64_t x) { return absl::StrCat(x); });
  if (const auto* l = v.get<AttrValue::Strings>()) return List(*l, Quoted);
  if (const auto* l = v.get<AttrValue::DTypes>()) return List(*l, DTypeLiteral);
  if (const auto* l = v.get<AttrValue::Floats>())
    return List(*l, [](float x) { return absl::StrCat("static_cast<float>(", x, ")"); });
  return "{}";
}

// Attributes that Scope infers from the inputs.
std::set<std::string> Inferred(const OpDef& op) {
  std::set<std::string> names;
  for (const ArgDef& arg : op.inputs) {
    for (const std::string& name : {arg.type_attr, arg.number_attr, arg.type_list_attr})
      if (!name.empty()) names.insert(name);
  }
  return names;
}

bool IsList(const ArgDef& arg) { return !arg.number_attr.empty() || !arg.type_list_attr.empty(); }

std::string ResultType(const OpDef& op) {
  return op.outputs.size() == 1 && !IsList(op.outputs[0]) ? "Output" : "Node*";
}

void WriteBuilder(const OpDef& op) {
  const std::set<std::string> inferred = Inferred(op);
  std::vector<std::string> params, fields, uses;
  int lists = 0;
  for (const ArgDef& arg : op.inputs) {
    lists += IsList(arg);
    params.push_back(absl::StrCat(IsList(arg) ? "const std::vector<Output>& " : "Output ", Safe(arg.name)));
  }
  for (const AttrDef& attr : op.attrs) {
    // With several lists the counts cannot be told from the inputs alone.
    if (inferred.contains(attr.name) && lists <= 1) continue;
    const std::string& type = CppTypes().at(attr.type);
    if (attr.default_value.empty()) {
      params.push_back(
          absl::StrCat("const ", type, "& ", Safe(attr.name), inferred.contains(attr.name) ? "_attr" : ""));
      uses.push_back(absl::StrCat("{\"", attr.name, "\", AttrValue(", Safe(attr.name),
                                  inferred.contains(attr.name) ? "_attr" : "", ")}"));
    } else {
      fields.push_back(absl::StrCat("  ", type, " ", Safe(attr.name), " = ", Literal(attr), ";\n"));
      uses.push_back(absl::StrCat("{\"", attr.name, "\", AttrValue(attrs.", Safe(attr.name), ")}"));
    }
  }
  if (!fields.empty()) std::printf("struct %sAttrs {\n%s};\n", op.name.c_str(), absl::StrJoin(fields, "").c_str());
  std::printf("// %s\n", op.Signature().c_str());
  if (!op.doc.empty()) std::printf("// %s\n", absl::StrReplaceAll(op.doc, {{"\n", "\n// "}}).c_str());
  if (!fields.empty()) params.push_back(absl::StrCat("const ", op.name, "Attrs& attrs = {}"));
  params.insert(params.begin(), "const Scope& scope");
  const std::string result = ResultType(op);
  std::printf("inline %s %s(%s) {\n  std::vector<Output> all;\n", result.c_str(), op.name.c_str(),
              absl::StrJoin(params, ", ").c_str());
  for (const ArgDef& arg : op.inputs) {
    const std::string name = Safe(arg.name);
    if (IsList(arg))
      std::printf("  all.insert(all.end(), %s.begin(), %s.end());\n", name.c_str(), name.c_str());
    else
      std::printf("  all.push_back(%s);\n", name.c_str());
  }
  std::printf("  return scope.%s(\"%s\", std::move(all), {%s});\n}\n\n", result == "Output" ? "Op" : "Add",
              op.name.c_str(), absl::StrJoin(uses, ", ").c_str());
}

void WriteBuilders() {
  std::printf(
      "// SPDX-License-Identifier: Apache-2.0\n// Generated by opgen from the op registry. Do not edit.\n"
      "#ifndef MILLSTREAM_OPS_GEN_OPS_H_\n#define MILLSTREAM_OPS_GEN_OPS_H_\n\n#include <string>\n#include <utility>\n"
      "#include <vector>\n\n#include \"millstream/graph/scope.h\"\n\n"
      "// One builder for each op: inputs, then attributes without default, then the others as a struct. An op with "
      "one\n"
      "// output gives it; the others give their node.\nnamespace millstream::ops {\n\n");
  for (const OpEntry* entry : OpRegistry::Global().Sorted()) {
    if (entry->def.name[0] != '_') WriteBuilder(entry->def);
  }
  std::printf("}  // namespace millstream::ops\n\n#endif  // MILLSTREAM_OPS_GEN_OPS_H_\n");
}

// "T: float, double; Tidx: int32" for one device.
std::string KernelTypes(const OpEntry& op, const std::string& device) {
  std::map<std::string, std::vector<std::string>> types;
  bool any = false;
  for (const KernelDef& k : op.kernels) {
    if (k.device_type != device) continue;
    any = true;
    for (const auto& [attr, type] : k.constraints) {
      auto& list = types[attr];
      if (std::find(list.begin(), list.end(), DTypeName(type)) == list.end()) list.push_back(DTypeName(type));
    }
  }
  if (!any) return "";
  std::vector<std::string> parts;
  for (const auto& [attr, list] : types) parts.push_back(absl::StrCat(attr, ": ", absl::StrJoin(list, " ")));
  return parts.empty() ? "all" : absl::StrJoin(parts, "; ");
}

void WriteDocs() {
  std::printf(
      "# Ops\n\nGenerated by `opgen docs` from the op registry; `make generate` writes it anew.\n\n"
      "Names, attributes and defaults are TensorFlow's. Gradient: yes, none (gradients stop here), or - (asking for "
      "one is an\n"
      "error).\n\n| op | gradient | CPU kernels |\n|---|---|---|\n");
  int count = 0;
  for (const OpEntry* entry : OpRegistry::Global().Sorted()) {
    if (entry->def.name[0] == '_') continue;
    ++count;
    const char* gradient = entry->grad != nullptr ? "yes" : entry->not_differentiable ? "none" : "-";
    std::printf("| %s | %s | %s |\n", entry->def.name.c_str(), gradient, KernelTypes(*entry, "CPU").c_str());
  }
  std::printf("\n%d ops.\n", count);
}

void WriteNames() {
  for (const OpEntry* entry : OpRegistry::Global().Sorted()) std::printf("%s\n", entry->def.name.c_str());
}

// "Add millstream/ops/math/add.cc": where each op is declared. How the compiler was called decides what stands in
// front.
void WriteSources() {
  for (const OpEntry* entry : OpRegistry::Global().Sorted()) {
    const char* path = std::strstr(entry->file, "millstream/ops/");
    std::printf("%s %s\n", entry->def.name.c_str(), path == nullptr ? entry->file : path);
  }
}

}  // namespace
}  // namespace millstream

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "builders") == 0)
    millstream::WriteBuilders();
  else if (argc == 2 && std::strcmp(argv[1], "docs") == 0)
    millstream::WriteDocs();
  else if (argc == 2 && std::strcmp(argv[1], "names") == 0)
    millstream::WriteNames();
  else if (argc == 2 && std::strcmp(argv[1], "sources") == 0)
    millstream::WriteSources();
  else {
    std::fprintf(stderr, "usage: opgen builders|docs|names|sources\n");
    return 2;
  }
  return 0;
}
