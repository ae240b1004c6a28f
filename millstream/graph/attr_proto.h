// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_GRAPH_ATTR_PROTO_H_
#define MILLSTREAM_GRAPH_ATTR_PROTO_H_

#include "millstream/framework/op_def.h"
#include "millstream/tensor/tensor_proto.h"

namespace millstream {

namespace proto {
class AttrValue;
class NameAttrList;
class OpDef;
}  // namespace proto

// Attributes and op definitions to and from TensorFlow's messages.

// InvalidArgument: a type, shape or tensor that cannot be; a list of two kinds; functions nested too deeply. Unknown
// data types are refused, DT_INVALID is kept (the check against the op's definition refuses it where it matters).
StatusOr<AttrValue> AttrFromProto(const proto::AttrValue& proto, const TensorDecodeOptions& options = {});
StatusOr<NameAttrList> FuncFromProto(const proto::NameAttrList& proto, const TensorDecodeOptions& options = {});
// Errors of TensorToProto(). Replaces what `proto` holds.
Status AttrToProto(const AttrValue& value, proto::AttrValue* proto, const TensorEncodeOptions& options = {});
Status FuncToProto(const NameAttrList& func, proto::NameAttrList* proto, const TensorEncodeOptions& options = {});

// `value` with every placeholder replaced by its binding, inside lists and functions too. InvalidArgument if one is not
// bound.
StatusOr<AttrValue> BindPlaceholders(const AttrValue& value, const AttrMap& bindings);

// InvalidArgument for argument types or defaults that cannot be.
StatusOr<OpDef> OpDefFromProto(const proto::OpDef& proto);
Status OpDefToProto(const OpDef& def, proto::OpDef* proto);

}  // namespace millstream

#endif  // MILLSTREAM_GRAPH_ATTR_PROTO_H_
