// SPDX-License-Identifier: Apache-2.0
// What a user's program looks like: builds a graph, differentiates it, runs it.
#include <iostream>

#include "millstream/millstream.h"

int main() {
  using namespace millstream;
  const Scope s = Scope::Root();
  const Output x = ops::Placeholder(s, DType::kFloat);
  const Output y = ops::Square(s, x);
  std::vector<Grad> dx;
  Status status = AddSymbolicGradients(s, {y}, {x}, {}, &dx);
  auto session = NewSession();
  if (status.ok()) status = session.status();
  if (status.ok()) status = (*session)->Extend(*s.graph());
  std::vector<Tensor> out;
  if (status.ok()) status = (*session)->Run({{x.name(), Tensor::Scalar(3.0f)}}, {dx[0].dense.name()}, {}, &out);
  if (!status.ok()) {
    std::cerr << status << "\n";
    return 1;
  }
  std::cout << "d(x*x)/dx at 3 is " << out[0].scalar<float>() << "\n";
  return out[0].scalar<float>() == 6.0f ? 0 : 1;
}
