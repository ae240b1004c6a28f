// SPDX-License-Identifier: Apache-2.0
#include "millstream/millstream.h"
#include "tests/twins/program.h"

namespace millstream::twins {
namespace {

using Decay = std::function<void(const Scope& s, Output step)>;
using Clip = std::function<std::vector<Grad>(const Scope& s, const std::vector<Grad>& gradients)>;

Program Rate(const std::string& name, const Decay& decay) {
  return {name, [decay](const Scope& s) { decay(s, CreateGlobalStep(VariableScope(s)).value); }};
}

void Trained(const Scope& s) {
  const GraphVariable step = CreateGlobalStep(VariableScope(s));
  const Output rate = ExponentialDecay(s, 0.1, step.value, 100, 0.5, true);
  AdamOptimizer(rate).Minimize(s, SmallModel(s), step);
}

Program Clipped(const std::string& name, const Clip& clip) {
  return {name, [clip](const Scope& s) {
            GradientDescentOptimizer optimizer(0.1);
            std::vector<GradientAndVariable> pairs = optimizer.ComputeGradients(s, SmallModel(s));
            std::vector<Grad> gradients;
            for (const GradientAndVariable& pair : pairs) gradients.push_back(pair.gradient);
            const std::vector<Grad> clipped = clip(s, gradients);
            for (size_t i = 0; i < pairs.size() && s.ok(); ++i) pairs[i].gradient = clipped[i];
            optimizer.ApplyGradients(s, pairs);
          }};
}

// One by one.
Clip Each(const std::function<Grad(const Scope&, const Grad&)>& clip) {
  return [clip](const Scope& s, const std::vector<Grad>& gradients) {
    std::vector<Grad> clipped;
    for (const Grad& gradient : gradients) clipped.push_back(clip(s, gradient));
    return clipped;
  };
}

}  // namespace

Programs RatePrograms() {
  return {
      Rate("exponential", [](const Scope& s, Output step) { ExponentialDecay(s, 0.1, step, 100, 0.5); }),
      Rate("exponential.staircase",
           [](const Scope& s, Output step) { ExponentialDecay(s, 0.1, step, 100, 0.5, true); }),
      Rate("natural_exp", [](const Scope& s, Output step) { NaturalExpDecay(s, 0.1, step, 100, 0.5); }),
      Rate("natural_exp.staircase", [](const Scope& s, Output step) { NaturalExpDecay(s, 0.1, step, 100, 0.5, true); }),
      Rate("inverse_time", [](const Scope& s, Output step) { InverseTimeDecay(s, 0.1, step, 100, 0.5); }),
      Rate("inverse_time.staircase",
           [](const Scope& s, Output step) { InverseTimeDecay(s, 0.1, step, 100, 0.5, true); }),
      Rate("piecewise_constant",
           [](const Scope& s, Output step) {
             PiecewiseConstant(s, step, {10, 20}, {0.1, 0.01, 0.001});
           }),
      Rate("polynomial", [](const Scope& s, Output step) { PolynomialDecay(s, 0.1, step, 100); }),
      Rate("polynomial.cycle",
           [](const Scope& s, Output step) { PolynomialDecay(s, 0.1, step, 100, {.power = 2, .cycle = true}); }),
      Rate("cosine", [](const Scope& s, Output step) { CosineDecay(s, 0.1, step, 100, 0.1); }),
      Rate("cosine_restarts", [](const Scope& s, Output step) { CosineDecayRestarts(s, 0.1, step, 100); }),
      Rate("cosine_restarts.same_length",
           [](const Scope& s, Output step) { CosineDecayRestarts(s, 0.1, step, 100, {.t_mul = 1}); }),
      Rate("linear_cosine", [](const Scope& s, Output step) { LinearCosineDecay(s, 0.1, step, 100); }),
      Rate("linear_warmup", [](const Scope& s, Output step) { LinearWarmup(s, 0.1, step, 100, 4); }),
      {"trained", Trained},
      Clipped("clip_by_value", Each([](const Scope& s, const Grad& g) { return ClipByValue(s, g, -1.0, 1.0); })),
      Clipped("clip_by_norm", Each([](const Scope& s, const Grad& g) { return ClipByNorm(s, g, 2.0); })),
      Clipped("clip_by_global_norm",
              [](const Scope& s, const std::vector<Grad>& gradients) { return ClipByGlobalNorm(s, gradients, 5.0); }),
  };
}

}  // namespace millstream::twins
