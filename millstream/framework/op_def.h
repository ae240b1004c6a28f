// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_OP_DEF_H_
#define MILLSTREAM_FRAMEWORK_OP_DEF_H_

#include <string>
#include <vector>

#include "millstream/framework/attr_value.h"

namespace millstream {

// One declared input or output. Exactly one of `type`, `type_attr`, `type_list_attr` says what it carries;
// `number_attr` makes it a sequence of equal types.
struct ArgDef {
  std::string name;
  DType type = DType::kInvalid;
  std::string type_attr;
  std::string number_attr;
  std::string type_list_attr;
  bool is_ref = false;
};

struct AttrDef {
  std::string name;
  std::string type;         // "int", "list(type)", ...
  AttrValue default_value;  // empty(): the attribute is required
  bool has_minimum = false;
  int64_t minimum = 0;
  std::vector<DType> allowed_types;          // empty: any
  std::vector<std::string> allowed_strings;  // empty: any
};

// What TensorFlow's OpDef says of an op.
struct OpDef {
  std::string name;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::string doc;
  bool stateful = false;
  bool commutative = false;
  bool aggregate = false;
  bool allows_uninitialized_input = false;

  const AttrDef* FindAttr(absl::string_view attr) const;
  // "AddV2(x: T, y: T) -> (z: T)"
  std::string Signature() const;
};

// The types of all single inputs (or outputs) of a node with these attributes. InvalidArgument if an attribute that
// decides a type or count is missing or unusable.
Status ArgTypes(const std::vector<ArgDef>& args, const AttrMap& attrs, std::vector<DType>* types);
// The range [begin, end) of single inputs/outputs that arg `name` covers.
Status ArgRange(const std::vector<ArgDef>& args, const AttrMap& attrs, absl::string_view name, int* begin, int* end);

// Checks one value against its definition: kind, allowed values, minimum.
Status CheckAttr(const AttrDef& def, const AttrValue& value);
// Adds the defaults of absent attributes; then every declared attribute must be there and fit. Unknown attributes
// are kept if they begin with '_', and refused otherwise unless `keep_unknown`.
Status CompleteAttrs(const OpDef& def, AttrMap* attrs, bool keep_unknown = false);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_DEF_H_
