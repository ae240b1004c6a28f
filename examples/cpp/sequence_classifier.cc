// SPDX-License-Identifier: Apache-2.0
// Learns whether a sequence of numbers grows: an embedding in two parts, an LSTM, batch normalization and a dense
// layer, fed by queues.
//
//   sequence_classifier --folder=/tmp/sequences --train_steps=300
//
// Checkpoints go to the folder, from which it goes on when it is started again; so does a Python program with the same
// model (tests/cluster/test_cpp_twins.py). With --export_dir the trained model is written as a SavedModel, which
// --serve loads. After 300 steps the accuracy is above 0.9.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "millstream/train/input/input.h"
#include "millstream/train/layers/batch_normalization.h"
#include "millstream/train/layers/embedding.h"
#include "millstream/train/layers/layers.h"
#include "millstream/train/layers/rnn.h"
#include "millstream/train/losses/losses.h"
#include "millstream/train/losses/regularizers.h"
#include "millstream/train/metrics/metrics.h"
#include "millstream/train/optimizers/adam.h"
#include "millstream/train/saving/checkpoint_management.h"
#include "millstream/train/saving/saved_model.h"
#include "millstream/train/sessions/basic_hooks.h"
#include "millstream/train/sessions/training_session.h"
#include "millstream/train/variables/global_step.h"
#include "millstream/train/variables/variables.h"

namespace {

using namespace millstream;  // NOLINT(google-build-using-namespace)

constexpr int64_t kLength = 4, kNumbers = 10, kExamples = 512;

struct Flags {
  std::string folder;
  std::string export_dir;
  std::string serve;
  int64_t train_steps = 300;
};

// Sequences [examples, length] and whether each ends above its start: always the same.
void MakeExamples(Tensor* sequences, Tensor* labels) {
  *sequences = Tensor(DType::kInt64, Shape({kExamples, kLength}));
  *labels = Tensor(DType::kFloat, Shape({kExamples, 1}));
  uint64_t random = 1;
  for (size_t i = 0; i < kExamples; ++i) {
    int64_t* row = sequences->flat<int64_t>().data() + i * kLength;
    for (int64_t t = 0; t < kLength; ++t) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      row[t] = static_cast<int64_t>((random >> 33) % kNumbers);
    }
    labels->flat<float>()[i] = row[kLength - 1] > row[0] ? 1.0f : 0.0f;
  }
}

struct Model {
  Scope scope = Scope::Root();
  Output sequences, labels, training, probability, loss;
  metrics::Metric accuracy;
  rnn::BasicLstmCell cell{8};
  AdamOptimizer optimizer{0.02};
  Node* train = nullptr;
};

// A value that comes from a queue unless it is fed.
Output Fed(const Scope& s, const char* name, Output standard, const PartialShape& shape) {
  return s.WithOpName(name).Op("PlaceholderWithDefault", {standard}, {{"shape", shape}});
}

Status Build(const Tensor& sequences, const Tensor& labels, Model* m) {
  const Scope& s = m->scope;
  const VariableScope variables(s);
  const GraphVariable step = CreateGlobalStep(variables);
  const std::vector<Output> example = input::SliceInputProducer(s, {s.Const(sequences), s.Const(labels)});
  const std::vector<Output> batch = input::ShuffleBatch(s, example, 32, 64, {.capacity = 256});
  RETURN_IF_ERROR(s.status());
  m->sequences = Fed(s, "sequences", batch[0], PartialShape({-1, kLength}));
  m->labels = Fed(s, "labels", batch[1], PartialShape({-1, 1}));
  m->training = Fed(s, "training", s.Const(Tensor::Scalar(false)), PartialShape(Shape()));

  VariableOptions in_parts;
  in_parts.partitioner = FixedSizePartitioner(2);
  const PartitionedVariable table = variables.GetPartitioned("embedding", Shape({kNumbers, 4}), in_parts);
  const Output embedded =
      EmbeddingLookup(s, table, m->sequences, {.partition_strategy = EmbeddingOptions::Strategy::kDiv});
  const rnn::Result result = rnn::DynamicRnn(m->cell, variables, embedded);
  RETURN_IF_ERROR(s.status());
  const Output normal = layers::BatchNormalization(variables, result.state[1], m->training, {.momentum = 0.9});
  const Output logits = layers::Dense(variables, normal, 1, {.kernel_regularizer = L2Regularizer(1e-4)});
  m->probability = s.WithOpName("probability").Op("Sigmoid", {logits});
  losses::SigmoidCrossEntropy(s, m->labels, logits);
  m->loss = losses::GetTotalLoss(s);
  m->accuracy = metrics::Accuracy(s, m->labels, s.Op("Round", {m->probability}));
  m->train = m->optimizer.Minimize(s.WithControlDependencies(layers::UpdateOps(s)), m->loss, step);
  return s.status();
}

// Over all examples, with the weights of the latest checkpoint.
Status Evaluate(const Flags& flags, const Model& m, Saver& saver, const Tensor& sequences, const Tensor& labels,
                const Node* init_local) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, NewSession());
  RETURN_IF_ERROR(session->Extend(*m.scope.graph()));
  std::vector<Tensor> out;
  RETURN_IF_ERROR(session->Run({}, {}, {init_local->name()}, &out));
  RETURN_IF_ERROR(saver.Restore(*session, LatestCheckpoint(flags.folder).value_or("")));
  const Session::Feeds feeds = {{m.sequences.name(), sequences}, {m.labels.name(), labels}};
  RETURN_IF_ERROR(session->Run(feeds, {m.accuracy.update_op.name(), m.loss.name()}, {}, &out));
  std::printf("accuracy = %.6f, loss = %.6f\n", out[0].scalar<float>(), out[1].scalar<float>());
  if (flags.export_dir.empty()) return OkStatus();
  return SimpleSave(*session, m.scope, flags.export_dir, {{"sequences", m.sequences}},
                    {{"probability", m.probability}});
}

Status Train(const Flags& flags, const Model& m) {
  TrainingSessionOptions options;
  options.checkpoint_dir = flags.folder;
  options.hooks = {StopAtStepHook::AtStep(flags.train_steps)};
  ASSIGN_OR_RETURN(const std::unique_ptr<MonitoredSession> session, MonitoredTrainingSession(m.scope, options));
  Status status;
  std::vector<Tensor> out;
  while (status.ok() && !session->ShouldStop()) {
    status = session->Run({{m.training.name(), Tensor::Scalar(true)}}, {}, {m.train->name()}, &out);
  }
  return session->Close(status);
}

// How often a SavedModel, of this program or of any other with the signature, is right.
Status Serve(const std::string& export_dir, const Tensor& sequences, const Tensor& labels) {
  ASSIGN_OR_RETURN(const LoadedModel model, LoadSavedModel(export_dir));
  const auto signature = model.signatures.find(saved_model::kDefaultServingSignature);
  if (signature == model.signatures.end()) return errors::NotFound("The model has no signature for serving");
  const auto input = signature->second.inputs.find("sequences");
  const auto output = signature->second.outputs.find("probability");
  if (input == signature->second.inputs.end() || output == signature->second.outputs.end()) {
    return errors::InvalidArgument("The model's signature is not that of a classifier of sequences");
  }
  std::vector<Tensor> out;
  RETURN_IF_ERROR(model.session->Run({{input->second.name(), sequences}}, {output->second.name()}, {}, &out));
  int64_t right = 0;
  for (size_t i = 0; i < kExamples; ++i) right += (out[0].flat<float>()[i] > 0.5f) == (labels.flat<float>()[i] > 0.5f);
  std::printf("served = %.6f\n", static_cast<double>(right) / static_cast<double>(kExamples));
  return OkStatus();
}

Status Run(const Flags& flags) {
  Tensor sequences, labels;
  MakeExamples(&sequences, &labels);
  if (!flags.serve.empty()) return Serve(flags.serve, sequences, labels);
  if (flags.folder.empty()) return errors::InvalidArgument("--folder or --serve is needed");
  Model m;
  RETURN_IF_ERROR(Build(sequences, labels, &m));
  const Node* init_local = LocalVariablesInitializer(m.scope);
  ASSIGN_OR_RETURN(const std::shared_ptr<Saver> saver, Saver::Make(m.scope));
  if (flags.train_steps > 0) RETURN_IF_ERROR(Train(flags, m));
  return Evaluate(flags, m, *saver, sequences, labels, init_local);
}

}  // namespace

// NOLINTNEXTLINE(bugprone-exception-escape): of CLI11, if the flags are declared wrongly, and the end of memory.
int main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Learns whether sequences grow");
  app.add_option("--folder", flags.folder, "of checkpoints");
  app.add_option("--export_dir", flags.export_dir, "where the trained model goes, as a SavedModel");
  app.add_option("--serve", flags.serve, "of a SavedModel: only says how often it is right");
  app.add_option("--train_steps", flags.train_steps,
                 "in all, those of earlier runs counted; 0: only evaluates the latest checkpoint");
  CLI11_PARSE(app, argc, argv);
  if (const Status status = Run(flags); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  return 0;
}
