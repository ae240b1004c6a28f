// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MILLSTREAM_H_
#define MILLSTREAM_MILLSTREAM_H_

// Everything a program needs to build graphs, differentiate, run and train them:
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
//
// or, with variables:
//
//   VariableScope v(s);
//   Output loss = layers::SoftmaxCrossEntropy(s, layers::Dense(v, images, 10), labels);
//   Node* train = AdamOptimizer(0.001).Minimize(s, loss, GetOrCreateGlobalStep(v));
//   Node* init = GlobalVariablesInitializer(s);

#include "millstream/graph/gradient.h"
#include "millstream/graph/initializers.h"
#include "millstream/graph/scope.h"
#include "millstream/graph/variable_scope.h"
#include "millstream/ops/gen/ops.h"
#include "millstream/runtime/session.h"
#include "millstream/train/adadelta.h"
#include "millstream/train/adagrad.h"
#include "millstream/train/adagrad_da.h"
#include "millstream/train/adam.h"
#include "millstream/train/clip.h"
#include "millstream/train/delay_compensated_gradient_descent.h"
#include "millstream/train/device_setter.h"
#include "millstream/train/ftrl.h"
#include "millstream/train/global_step.h"
#include "millstream/train/gradient_descent.h"
#include "millstream/train/layers.h"
#include "millstream/train/learning_rate_decay.h"
#include "millstream/train/momentum.h"
#include "millstream/train/moving_averages.h"
#include "millstream/train/optimizer.h"
#include "millstream/train/proximal_adagrad.h"
#include "millstream/train/proximal_gradient_descent.h"
#include "millstream/train/rms_prop.h"
#include "millstream/train/sync_replicas_optimizer.h"
#include "millstream/train/variables.h"

#endif  // MILLSTREAM_MILLSTREAM_H_
