// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MILLSTREAM_H_
#define MILLSTREAM_MILLSTREAM_H_

// Everything a program needs to build graphs, differentiate and run them:
//
//   Scope s = Scope::Root();
//   Output x = ops::Placeholder(s, DType::kFloat);
//   Output y = ops::Square(s, x);
//   std::vector<Grad> dx;
//   AddSymbolicGradients(s, {y}, {x}, {}, &dx);
//   auto session = NewSession();
//   (*session)->Extend(*s.graph());
//   std::vector<Tensor> out;
//   (*session)->Run({{x.name(), Tensor::Scalar(3.f)}}, {dx[0].dense.name()}, {}, &out);

#include "millstream/graph/gradient.h"
#include "millstream/graph/scope.h"
#include "millstream/graph/variable_scope.h"
#include "millstream/ops/gen/ops.h"
#include "millstream/runtime/session.h"

#endif  // MILLSTREAM_MILLSTREAM_H_
