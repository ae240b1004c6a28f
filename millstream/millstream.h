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

#include "millstream/graph/gradients/gradient.h"
#include "millstream/graph/scope.h"
#include "millstream/graph/variables/initializers.h"
#include "millstream/graph/variables/variable_scope.h"
#include "millstream/ops/gen/ops.h"
#include "millstream/runtime/session.h"
#include "millstream/train/collectives/distributed_optimizer.h"
#include "millstream/train/collectives/hierarchical_optimizer.h"
#include "millstream/train/collectives/local_sgd_optimizer.h"
#include "millstream/train/layers/layers.h"
#include "millstream/train/optimizers/adadelta.h"
#include "millstream/train/optimizers/adagrad.h"
#include "millstream/train/optimizers/adagrad_da.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/optimizers/clip.h"
#include "millstream/train/optimizers/delay_compensated_gradient_descent.h"
#include "millstream/train/optimizers/ftrl.h"
#include "millstream/train/optimizers/gradient_descent.h"
#include "millstream/train/optimizers/learning_rate_decay.h"
#include "millstream/train/optimizers/loss_scale_optimizer.h"
#include "millstream/train/optimizers/momentum.h"
#include "millstream/train/optimizers/moving_averages.h"
#include "millstream/train/optimizers/optimizer.h"
#include "millstream/train/optimizers/proximal_adagrad.h"
#include "millstream/train/optimizers/proximal_gradient_descent.h"
#include "millstream/train/optimizers/rms_prop.h"
#include "millstream/train/stale_synchronous/stale_synchronous_optimizer.h"
#include "millstream/train/sync_replicas/sync_replicas_optimizer.h"
#include "millstream/train/variables/device_setter.h"
#include "millstream/train/variables/global_step.h"
#include "millstream/train/variables/variables.h"

#endif  // MILLSTREAM_MILLSTREAM_H_
