#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes a new op and its test from a template. Usage: tools/new_op.sh FAMILY/NAME     (e.g. math/softplus)
# The template computes y = x, so it builds; then fill in definition, shape function, gradient and kernel.
set -eu
cd "$(dirname "$0")/.."
case ${1:-} in
  [a-z]*/[a-z]*) ;;
  *) echo "usage: tools/new_op.sh FAMILY/NAME, in lower case, e.g. math/softplus" >&2; exit 1 ;;
esac
family=${1%/*} name=${1##*/}
folder=millstream/ops/$family
op=$(echo "$name" | sed -E 's/(^|_)([a-z0-9])/\U\2/g')
[ ! -e "$folder/$name.cc" ] || { echo "$folder/$name.cc exists" >&2; exit 1; }
mkdir -p "$folder"

cat >"$folder/$name.cc" <<EOF
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

template <typename T>
class ${op}Kernel : public Kernel {
 public:
  explicit ${op}Kernel(KernelInit&) {}

  Status Compute(KernelContext& ctx) override {
    const Tensor& x = ctx.input(0);
    ASSIGN_OR_RETURN(Tensor * y, ctx.ForwardOrAllocate({0}, 0, x.shape()));
    std::copy_n(x.data<T>(), x.num_elements(), y->data<T>());
    return OkStatus();
  }
};

OP("${op}")
    .Input("x: T")
    .Output("y: T")
    .Attr("T: {float, double}")
    .Shape(UnchangedShape)
    .NotDifferentiable()
    .Cpu<${op}Kernel>(Types<float, double>{}, "T")
    .Doc("What it computes, in one sentence.");

}  // namespace
}  // namespace millstream
EOF

cat >"$folder/${name}_test.cc" <<EOF
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "millstream/framework/op.h"

namespace millstream {
namespace {

TEST(${op}Test, IsRegistered) {
  StatusOr<const OpEntry*> op = OpRegistry::Global().Lookup("${op}");
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ((*op)->kernels.size(), 2);
}

}  // namespace
}  // namespace millstream
EOF

echo "wrote $folder/$name.cc and $folder/${name}_test.cc; test: ops_${family}_test"
