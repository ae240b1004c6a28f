// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_TRAIN_INPUT_INPUT_H_
#define MILLSTREAM_TRAIN_INPUT_INPUT_H_

#include <optional>
#include <string>
#include <vector>

#include "millstream/graph/scope.h"
#include "millstream/graph/variables/initializers.h"

namespace millstream::input {

// Input through queues, as tf.train.string_input_producer(), batch() and their kin: each adds a queue, and a
// QueueRunner to the graph that fills it. MonitoredTrainingSession and Supervisor start those; other programs call
// StartQueueRunners(). Numbers of epochs are local variables: run LocalVariablesInitializer(). Errors go to the scope's
// status; outputs are empty then.

struct ProducerOptions {
  std::optional<int64_t> num_epochs = {};  // then OutOfRange; none: over and over
  bool shuffle = true;                     // within each epoch
  Seed seed = {};
  int64_t capacity = 32;
  std::string shared_name = {};
  std::string name = {};  // none: "input_producer"
};

// The tensor, so many times; then OutOfRange. InvalidArgument if the number is not above 0.
Output LimitEpochs(const Scope& scope, Output tensor, std::optional<int64_t> num_epochs);

// A queue of the rows of a tensor, whose row shape is known. Dequeue() takes one; readers take the queue itself.
Output InputProducer(const Scope& scope, Output tensor, const ProducerOptions& options = {});
// A queue of names of files, for readers. InvalidArgument if there are none.
Output StringInputProducer(const Scope& scope, const std::vector<std::string>& strings,
                           const ProducerOptions& options = {});
// A queue of the numbers from 0 to limit - 1.
Output RangeInputProducer(const Scope& scope, Output limit, const ProducerOptions& options = {});
// One row of each tensor, the same in all. InvalidArgument if there is none.
std::vector<Output> SliceInputProducer(const Scope& scope, const std::vector<Output>& tensors,
                                       const ProducerOptions& options = {});
// The next element of a queue of elements of one component.
Output Dequeue(const Scope& scope, Output queue, DType dtype, const PartialShape& shape = {});

struct BatchOptions {
  int64_t num_threads = 1;
  int64_t capacity = 32;
  bool enqueue_many = false;              // tensors are rows of examples, not one example
  std::vector<PartialShape> shapes = {};  // of one example; none: those that are known
  bool dynamic_pad = false;               // examples of a batch are padded to the largest; not for shuffled ones
  bool allow_smaller_final_batch = false;
  std::string shared_name = {};
  std::string name = {};  // none: "batch", "shuffle_batch"
};

// Batches of examples: [batch_size, ...]. InvalidArgument: there is no tensor; shapes are not known and not padded.
std::vector<Output> Batch(const Scope& scope, const std::vector<Output>& tensors, int64_t batch_size,
                          const BatchOptions& options = {});
// In random order: drawn from at least `min_after_dequeue` examples, as long as there are more to come.
std::vector<Output> ShuffleBatch(const Scope& scope, const std::vector<Output>& tensors, int64_t batch_size,
                                 int64_t min_after_dequeue, const BatchOptions& options = {}, Seed seed = {});
// The same from several lists of tensors, with a thread for each (num_threads does not count).
std::vector<Output> BatchJoin(const Scope& scope, const std::vector<std::vector<Output>>& lists, int64_t batch_size,
                              const BatchOptions& options = {});
std::vector<Output> ShuffleBatchJoin(const Scope& scope, const std::vector<std::vector<Output>>& lists,
                                     int64_t batch_size, int64_t min_after_dequeue, const BatchOptions& options = {},
                                     Seed seed = {});

}  // namespace millstream::input

#endif  // MILLSTREAM_TRAIN_INPUT_INPUT_H_
