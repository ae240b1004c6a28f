// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "absl/strings/str_replace.h"
#include "millstream/devices/cuda/fusion/element_program.h"

namespace millstream::cuda {
namespace {

// There are no headers where the code is compiled: 16-bit floats are bits, and are widened and rounded here.
constexpr char kPrelude[] = R"(typedef unsigned short u16;
template <typename T, int N> struct alignas(sizeof(T) * N) Lanes { T lane[N]; };
__device__ __forceinline__ float WidenHalf(u16 x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
__device__ __forceinline__ u16 NarrowHalf(float x) { u16 y; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
__device__ __forceinline__ float WidenBrain(u16 x) { return __uint_as_float(static_cast<unsigned>(x) << 16); }
__device__ __forceinline__ u16 NarrowBrain(float x) { u16 y; asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y) : "f"(x)); return y; }
)";

const char* StoredType(DType type) {
  switch (type) {
    case DType::kHalf:
    case DType::kBfloat16:
      return "u16";
    case DType::kDouble:
      return "double";
    case DType::kBool:
      return "bool";
    default:
      return "float";
  }
}
const char* WideTypeName(DType type) {
  return type == DType::kHalf || type == DType::kBfloat16 ? "float" : StoredType(type);
}
std::string Widened(DType type, const std::string& x) {
  if (type == DType::kHalf) return absl::StrCat("WidenHalf(", x, ")");
  return type == DType::kBfloat16 ? absl::StrCat("WidenBrain(", x, ")") : x;
}
std::string Narrowed(DType type, const std::string& x) {
  if (type == DType::kHalf) return absl::StrCat("NarrowHalf(", x, ")");
  return type == DType::kBfloat16 ? absl::StrCat("NarrowBrain(", x, ")") : x;
}

// The formula with the attributes of the node in it.
std::string FormulaOf(const ElementProgram::Step& step) {
  if (step.op->role == ElementRole::kSum) {
    std::string sum = "x0";
    for (size_t i = 1; i < step.operands.size(); ++i) absl::StrAppend(&sum, " + x", i);
    return sum;
  }
  std::string text = step.op->formula;
  for (const AttrDef& attr : step.node->op().def.attrs) {
    float value = 0;
    if (!step.node->GetAttr(attr.name, &value).ok()) continue;
    char number[32];
    std::snprintf(number, sizeof(number), "%.9e", static_cast<double>(value));
    text = absl::StrReplaceAll(text, {{absl::StrCat("{", attr.name, "}"), number}});
  }
  return text;
}

class SourceWriter {
 public:
  SourceWriter(const ElementProgram& program, const KernelForm& form) : p_(program), form_(form) {}

  std::string Write() {
    next_number_ = form_.rank;
    absl::StrAppend(&out_, kPrelude, "struct Places { unsigned long long at[", p_.loads.size() + p_.stores.size(),
                    "]; unsigned u[", form_.NumNumbers(), "]; };\nextern \"C\" __global__ void __launch_bounds__(",
                    kFusedThreads, ") fused(const Places p) {\n");
    for (size_t i = 0; i < p_.loads.size(); ++i) {
      if (form_.loads[i] == Reach::kOne)
        Line("  const ", StoredType(p_.loads[i].dtype), " l", i, " = *", LoadAt(i), ";");
    }
    Line("  for (unsigned g = blockIdx.x * ", kFusedThreads, "u + threadIdx.x; g < p.u[0]; g += gridDim.x * ",
         kFusedThreads, "u) {");
    WriteCoordinates();
    for (size_t i = 0; i < p_.loads.size(); ++i) WriteLoad(i);
    for (size_t i = 0; i < p_.stores.size(); ++i) Line("    ", LanesOf(p_.stores[i].dtype), " o", i, ";");
    Line("#pragma unroll\n    for (int k = 0; k < ", form_.lanes, "; ++k) {");
    WriteElement();
    Line("    }");
    for (size_t i = 0; i < p_.stores.size(); ++i) WriteStore(i);
    Line("  }\n}");
    return std::move(out_);
  }

 private:
  template <typename... Args>
  void Line(const Args&... args) {
    absl::StrAppend(&out_, args..., "\n");
  }
  std::string LanesOf(DType type) const { return absl::StrCat("Lanes<", StoredType(type), ", ", form_.lanes, ">"); }
  std::string LoadAt(size_t i) const {
    return absl::StrCat("reinterpret_cast<const ", StoredType(p_.loads[i].dtype), "*>(p.at[", i, "])");
  }

  // c0 counts groups of lanes along the last dimension.
  void WriteCoordinates() {
    Line("    unsigned r = g;");
    for (int d = 0; d + 1 < form_.rank; ++d) {
      Line("    const unsigned c", d, " = r % p.u[", d + 1, "]; r /= p.u[", d + 1, "];");
    }
    Line("    const unsigned c", form_.rank - 1, " = r;");
  }

  // Where a group begins, in elements. Takes the next numbers.
  std::string Offset(Reach reach) {
    std::string sum = reach == Reach::kRows ? absl::StrCat("c0 * ", form_.lanes, "u") : "0u";
    for (int d = reach == Reach::kSteps ? 0 : 1; d < form_.rank; ++d) {
      absl::StrAppend(&sum, " + c", d, " * p.u[", next_number_++, "]");
    }
    return sum;
  }

  void WriteLoad(size_t i) {
    const Reach reach = form_.loads[i];
    const DType type = p_.loads[i].dtype;
    if (reach == Reach::kOne) return;
    if (reach == Reach::kAll) {
      Line("    const ", LanesOf(type), " l", i, " = reinterpret_cast<const ", LanesOf(type), "*>(p.at[", i, "])[g];");
    } else if (reach == Reach::kRows) {
      Line("    const ", LanesOf(type), " l", i, " = *reinterpret_cast<const ", LanesOf(type), "*>(", LoadAt(i), " + (",
           Offset(reach), "));");
    } else {
      Line("    const ", StoredType(type), " l", i, " = ", LoadAt(i), "[", Offset(reach), "];");
    }
  }

  void WriteElement() {
    for (size_t i = 0; i < p_.loads.size(); ++i) {
      const bool lanes = form_.loads[i] == Reach::kAll || form_.loads[i] == Reach::kRows;
      const DType type = p_.loads[i].dtype;
      Line("      const ", WideTypeName(type), " v", i, " = ",
           Widened(type, absl::StrCat("l", i, lanes ? ".lane[k]" : "")), ";");
    }
    for (size_t i = 0; i < p_.steps.size(); ++i) WriteStep(p_.steps[i], p_.loads.size() + i);
    for (size_t i = 0; i < p_.stores.size(); ++i) {
      Line("      o", i, ".lane[k] = ", Narrowed(p_.stores[i].dtype, absl::StrCat("v", p_.stores[i].value)), ";");
    }
  }

  // Rounded to the type of the result, as if it had been in memory.
  void WriteStep(const ElementProgram::Step& step, size_t value) {
    const char* const wide = WideTypeName(step.dtype);
    Line("      ", wide, " v", value, ";");
    absl::StrAppend(&out_, "      { typedef ", WideTypeName(step.operand_types.back()), " T;");
    for (size_t k = 0; k < step.operands.size(); ++k) {
      absl::StrAppend(&out_, " const ", WideTypeName(step.operand_types[k]), " x", k, " = v", step.operands[k], ";");
    }
    const std::string rounded =
        Widened(step.dtype, Narrowed(step.dtype, absl::StrCat("static_cast<", wide, ">(", FormulaOf(step), ")")));
    Line(" v", value, " = ", rounded, "; }");
  }

  void WriteStore(size_t i) {
    const size_t at = p_.loads.size() + i;
    const DType type = p_.stores[i].dtype;
    if (form_.stores[i] == Reach::kAll) {
      Line("    reinterpret_cast<", LanesOf(type), "*>(p.at[", at, "])[g] = o", i, ";");
    } else {
      Line("    *reinterpret_cast<", LanesOf(type), "*>(reinterpret_cast<", StoredType(type), "*>(p.at[", at, "]) + (",
           Offset(form_.stores[i]), ")) = o", i, ";");
    }
  }

  const ElementProgram& p_;
  const KernelForm& form_;
  std::string out_;
  int next_number_ = 0;
};

}  // namespace

std::string ElementKernelSource(const ElementProgram& program, const KernelForm& form) {
  return SourceWriter(program, form).Write();
}

}  // namespace millstream::cuda
