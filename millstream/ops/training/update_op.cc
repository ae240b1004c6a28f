// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/training/update_op.h"

#include "millstream/ops/resources/variable_input.h"

namespace millstream {

int ScalarInput::InputIndex(const OpDef& op, absl::string_view name) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

UpdateInputs::UpdateInputs(const OpDef& op) : variables(0), indices(ScalarInput::InputIndex(op, "indices")) {
  for (const ArgDef& arg : op.inputs) variables += arg.is_ref || arg.type == DType::kResource ? 1 : 0;
  grad = ScalarInput::InputIndex(op, "grad");
  if (grad < 0) grad = ScalarInput::InputIndex(op, "delta");
}

namespace {

bool IsSparse(UpdateForm form) { return form == UpdateForm::kSparse || form == UpdateForm::kResourceSparse; }
bool IsResource(UpdateForm form) { return form == UpdateForm::kResourceDense || form == UpdateForm::kResourceSparse; }

// Shape functions get no definition of the op, but the number of outputs tells
// references from handles, and the variables come first.
Status UpdateShape(ShapeContext& c) {
  if (c.num_outputs() > 0) {
    c.set_output(0, c.input(0));
    return OkStatus();
  }
  return VariableShapeOf(c, 0, "T").status();
}

}  // namespace

OpBuilder DefineUpdate(const UpdateSpec& spec, UpdateForm form) {
  const std::string name =
      absl::StrCat(IsResource(form) ? "Resource" : "", IsSparse(form) ? "Sparse" : "", "Apply", spec.name);
  OpBuilder op(name.c_str());
  for (const std::string& variable : spec.variables) {
    op.Input(absl::StrCat(variable, IsResource(form) ? ": resource" : ": Ref(T)").c_str());
  }
  for (const std::string& input : spec.inputs) {
    if (input == "indices") {
      if (IsSparse(form)) op.Input("indices: Tindices");
    } else if (input == "global_step") {
      op.Input("global_step: int64");
    } else {
      op.Input(absl::StrCat(input == "grad" && !IsSparse(form) ? spec.dense_grad : input, ": T").c_str());
    }
  }
  if (!IsResource(form)) op.Output("out: Ref(T)");
  op.Attr("T: numbertype");
  if (IsSparse(form)) op.Attr("Tindices: {int32, int64}");
  op.Attr("use_locking: bool = false");
  for (const std::string& attr : spec.attrs) op.Attr(attr.c_str());
  if (IsResource(form)) op.Stateful();
  op.Updates().Shape(UpdateShape).Doc(spec.doc.c_str());
  return op;
}

}  // namespace millstream
