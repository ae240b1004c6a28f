// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_FRAMEWORK_OP_SPEC_H_
#define MILLSTREAM_FRAMEWORK_OP_SPEC_H_

#include "millstream/framework/op_def.h"

namespace millstream {

// The notation of OpBuilder (see op.h), parsed. InvalidArgument says what was expected.
StatusOr<ArgDef> ParseArgSpec(absl::string_view spec);
StatusOr<AttrDef> ParseAttrSpec(absl::string_view spec);
// Moves type_attr to type_list_attr in args whose attribute turned out to be a list(type).
void ResolveArgs(OpDef* def);

}  // namespace millstream

#endif  // MILLSTREAM_FRAMEWORK_OP_SPEC_H_
