// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/queues/accumulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "millstream/math/simd.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

// to += from, and to /= count, of single rows.
void Add(const Tensor& from, Tensor* to, ThreadPool* pool) {
  DispatchOver(FloatTypes{}, to->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using W = Compute<T>;
    const T* x = from.data<T>();
    T* sum = to->data<T>();
    simd::ParallelFor<W>(pool, to->num_elements(), 0.4, [=](int64_t i) { sum[i] = T(W(sum[i]) + W(x[i])); });
  });
}

void Divide(int64_t count, Tensor* to) {
  if (count == 1) return;
  DispatchOver(FloatTypes{}, to->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using W = Compute<T>;
    T* sum = to->data<T>();
    const W divisor = static_cast<W>(count);
    simd::ParallelFor<W>(nullptr, to->num_elements(), 0.4, [=](int64_t i) { sum[i] = T(W(sum[i]) / divisor); });
  });
}

// to = (to + from[0] + from[1] + ...) / divisor, in blocks that stay in the cache: one pass over the memory of each.
void AddAll(const std::vector<Tensor>& from, int64_t divisor, Tensor* to, ThreadPool* pool) {
  constexpr int64_t kBlock = 4096;
  DispatchOver(FloatTypes{}, to->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    using W = Compute<T>;
    T* sum = to->data<T>();
    const W by = static_cast<W>(divisor);
    const auto add = [&](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; block += kBlock) {
        const int64_t block_end = std::min(block + kBlock, end);
        for (const Tensor& gradient : from) {
          const T* x = gradient.data<T>();
          simd::For<W>(block, block_end, [=](int64_t i) { sum[i] = T(W(sum[i]) + W(x[i])); });
        }
        if (divisor != 1) simd::For<W>(block, block_end, [=](int64_t i) { sum[i] = T(W(sum[i]) / by); });
      }
    };
    const double cost = 0.4 * static_cast<double>(from.size() + (divisor == 1 ? 0 : 1));
    if (pool == nullptr) return add(0, to->num_elements());
    pool->ParallelFor(to->num_elements(), cost, add, /*align=*/64);
  });
}

// Memory for a sum that begins with the first of the gradients, which is taken from the list: its own if nobody else
// uses it.
StatusOr<Tensor> BeginSum(std::vector<Tensor>* gradients) {
  Tensor first = std::move(gradients->front());
  gradients->erase(gradients->begin());
  if (first.RefIsOne()) return first;
  return first.Clone();
}

// The shape of a sparse accumulator is that of the leading dimensions of its
// gradients: [] fits all of them.
PartialShape LeadingDims(const PartialShape& shape, int rank) {
  if (!shape.rank_known() || shape.rank() >= rank) return shape;
  return shape.Concatenate(PartialShape::UnknownOfRank(rank - shape.rank()));
}

// Only the accumulator's lock lets anybody write. Steps are the graph's to choose: sums may wrap around.
void Count(std::atomic<int64_t>* counter, uint64_t n = 1) {
  const auto before = static_cast<uint64_t>(counter->load(std::memory_order_relaxed));
  counter->store(static_cast<int64_t>(before + n), std::memory_order_relaxed);
}

}  // namespace

Accumulator::Accumulator(Options options)
    : options_(std::move(options)), observed_(std::make_shared<ObservedAccumulator>()) {
  observed_->name = options_.name;
  observed_->device = options_.device;
  if (options_.census) options_.census->Add(observed_);
}

void Accumulator::Show() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  observed_->pending.store(count_, kRelaxed);
  observed_->global_step.store(global_step_, kRelaxed);
  observed_->waiting_to_take.store(static_cast<int64_t>(takes_.size()), kRelaxed);
}

Status Accumulator::CheckDense(const Tensor& values) const {
  if (values.dtype() != options_.dtype) {
    return errors::InvalidArgument("Type mismatch: expected ", DTypeName(options_.dtype), ", got ",
                                   DTypeName(values.dtype()));
  }
  if (!options_.shape.IsCompatibleWith(values.shape())) {
    return errors::InvalidArgument("Shape mismatch: expected ", options_.shape.ToString(), ", got ",
                                   values.shape().ToString());
  }
  return OkStatus();
}

Status Accumulator::CheckSparse(const AccumulatedGradient& g) const {
  if (g.values.dtype() != options_.dtype) {
    return errors::InvalidArgument("Type mismatch: expected ", DTypeName(options_.dtype), ", got ",
                                   DTypeName(g.values.dtype()));
  }
  if (g.indices.rank() != 1)
    return errors::InvalidArgument("Input indices should be vector but received shape: ", g.indices.shape().ToString());
  if (g.values.rank() < 1 || g.values.dim(0) != g.indices.dim(0)) {
    return errors::InvalidArgument("Expected ", g.indices.dim(0), " non-empty input values, got shape ",
                                   g.values.shape().ToString(), ".");
  }
  PartialShape expected = options_.shape;
  if (g.dense_shape.IsInitialized()) {
    const auto dims = g.dense_shape.flat<int64_t>();
    ASSIGN_OR_RETURN(const PartialShape given, PartialShape::Make(std::vector<int64_t>(dims.begin(), dims.end())));
    expected = LeadingDims(expected, given.rank());
    if (!expected.IsCompatibleWith(given)) {
      return errors::InvalidArgument("Shape mismatch: expected shape ", expected.ToString(), ", got ",
                                     given.ToString());
    }
    ASSIGN_OR_RETURN(expected, expected.MergeWith(given));
  }
  int64_t limit = -1;
  expected = LeadingDims(expected, g.values.rank());
  if (expected.rank_known()) {
    if (expected.rank() < 1)
      return errors::InvalidArgument("A sparse gradient needs a shape of at least one dimension");
    limit = expected.dim(0);
    expected.set_dim(0, -1);
    if (!expected.IsCompatibleWith(g.values.shape())) {
      return errors::InvalidArgument("Shape mismatch: expected values of shape ", expected.ToString(), ", got ",
                                     g.values.shape().ToString());
    }
  }
  for (const int64_t index : g.indices.flat<int64_t>()) {
    if (index < 0 || (limit >= 0 && index >= limit)) {
      return errors::InvalidArgument("Row ", index, " is outside of a gradient with ", limit, " rows");
    }
  }
  return OkStatus();
}

Status Accumulator::Apply(int64_t local_step, AccumulatedGradient gradient, ThreadPool* pool) {
  if (options_.sparse != gradient.indices.IsInitialized()) {
    return errors::InvalidArgument(options_.sparse ? "A sparse accumulator takes sparse gradients"
                                                   : "A dense accumulator takes dense gradients");
  }
  RETURN_IF_ERROR(options_.sparse ? CheckSparse(gradient) : CheckDense(gradient.values));
  return options_.sparse ? ApplySparse(local_step, gradient) : ApplyDense(local_step, std::move(gradient.values), pool);
}

bool Accumulator::IsLate(int64_t local_step) {
  if (local_step >= global_step_) return false;
  Count(&observed_->dropped);
  Count(&observed_->steps_late, static_cast<uint64_t>(global_step_) - static_cast<uint64_t>(local_step));
  return true;
}

Status Accumulator::ApplySparse(int64_t local_step, const AccumulatedGradient& gradient) {
  Attempts finished;
  {
    MutexLock lock(mu_);
    if (IsLate(local_step)) return OkStatus();
    RETURN_IF_ERROR(AddSparse(gradient));
    ++count_;
    Count(&observed_->applied);
    CloseIfDue(&finished);
  }
  Report(finished, nullptr);
  return OkStatus();
}

Status Accumulator::ApplyDense(int64_t local_step, Tensor values, ThreadPool* pool) {
  SumPtr sum;
  {
    MutexLock lock(mu_);
    if (IsLate(local_step)) return OkStatus();
    sum = sum_;
    if (count_ == 0) sum->shape = values.shape();
    if (!(sum->shape == values.shape())) {
      return errors::InvalidArgument("Shape mismatch: expected ", sum->shape.ToString(), ", got ",
                                     values.shape().ToString());
    }
    sum->waiting.push_back(std::move(values));
    ++count_;
    Count(&observed_->applied);
    CloseIfDue(nullptr);
    if (!BeginAdding(*sum)) return OkStatus();
  }
  return AddWaiting(sum, pool, nullptr);
}

bool Accumulator::BeginAdding(Sum& sum) { return !std::exchange(sum.adding, true); }

Status Accumulator::AddWaiting(const SumPtr& sum, ThreadPool* pool, const Attempt* own) {
  Status status;
  bool complete = false;
  for (bool divided = false;;) {
    std::vector<Tensor> waiting;
    int64_t divisor = 1;
    {
      MutexLock lock(mu_);
      waiting.swap(sum->waiting);
      complete = sum->taker != nullptr;
      if (complete && options_.mean && !std::exchange(divided, true)) divisor = sum->count;
      if (waiting.empty() && divisor == 1) {
        sum->adding = false;
        status = sum->status;
        break;
      }
    }
    if (!sum->status.ok()) continue;
    StatusOr<Tensor> begun = sum->values.IsInitialized() ? std::move(sum->values) : BeginSum(&waiting);
    if (begun.ok()) {
      sum->values = *std::move(begun);
      AddAll(waiting, divisor, &sum->values, pool);
    } else {
      sum->status = begun.status();
    }
  }
  if (!complete) return status;
  AccumulatedGradient taken;
  taken.values = std::move(sum->values);
  taken.global_step = sum->global_step;
  sum->taker->result = status.ok() ? StatusOr<AccumulatedGradient>(std::move(taken)) : status;
  Report({sum->taker}, own);
  return status;
}

Status Accumulator::AddSparse(const AccumulatedGradient& g) {
  Shape row_shape = g.values.shape();
  row_shape.RemoveDim(0);
  if (row_shape_known_ && count_ > 0 && !(row_shape == row_shape_)) {
    return errors::InvalidArgument("Shape mismatch: expected rows of shape ", row_shape_.ToString(), ", got ",
                                   row_shape.ToString());
  }
  row_shape_ = row_shape;
  row_shape_known_ = true;
  std::map<int64_t, Row> added;  // rows that repeat within a gradient count once
  for (int64_t i = 0; i < g.indices.num_elements(); ++i) {
    const Tensor values = g.values.SliceRows(i, i + 1).Reshaped(row_shape);
    Row& row = added[g.indices.data<int64_t>()[i]];
    if (row.count == 1) {
      Add(values, &row.values, nullptr);
      continue;
    }
    ASSIGN_OR_RETURN(row.values, values.Clone());
    row.count = 1;
  }
  for (auto& [index, row] : added) {
    auto [it, is_new] = rows_.try_emplace(index, row);
    if (is_new) continue;
    Add(row.values, &it->second.values, nullptr);
    ++it->second.count;
  }
  return OkStatus();
}

StatusOr<AccumulatedGradient> Accumulator::TakeSparse() {
  const std::map<int64_t, Row> rows = std::exchange(rows_, {});
  const int64_t n = static_cast<int64_t>(rows.size());
  Shape shape = row_shape_;
  shape.InsertDim(0, n);
  AccumulatedGradient taken;
  ASSIGN_OR_RETURN(taken.values, Tensor::Make(options_.dtype, shape));
  ASSIGN_OR_RETURN(taken.indices, Tensor::Make(DType::kInt64, Shape({n})));
  int64_t i = 0;
  for (const auto& [index, row] : rows) {
    Tensor values = row.values;
    if (options_.mean) Divide(row.count, &values);
    std::memcpy(static_cast<char*>(taken.values.raw()) + static_cast<size_t>(i) * values.ByteSize(), values.raw(),
                values.ByteSize());
    taken.indices.data<int64_t>()[i++] = index;
  }
  std::vector<int64_t> dims = {options_.shape.rank() > 0 ? options_.shape.dim(0) : -1};
  dims.insert(dims.end(), row_shape_.dims().begin(), row_shape_.dims().end());
  taken.dense_shape = Tensor::Vector(dims);
  taken.global_step = global_step_;
  return taken;
}

void Accumulator::CloseIfDue(Attempts* finished) {
  if (!takes_.empty() && count_ > 0 && count_ >= takes_.front()->required) {
    const AttemptPtr attempt = takes_.front();
    takes_.pop_front();
    attempt->finished = true;
    ++global_step_;
    if (options_.sparse) {
      attempt->result = TakeSparse();
      finished->push_back(attempt);
    } else {
      sum_->taker = attempt;
      sum_->count = count_;
      sum_->global_step = global_step_;
      sum_ = std::make_shared<Sum>();
    }
    count_ = 0;
    Count(&observed_->taken);
  }
  Show();
}

void Accumulator::Take(int64_t num_required, Cancellation* cancellation, ThreadPool* pool, TakeDone done) {
  if (num_required <= 0) return done(errors::InvalidArgument("Argument num_required must be positive"));
  auto attempt = std::make_shared<Attempt>();
  attempt->required = num_required;
  attempt->cancellation = cancellation;
  attempt->pool = pool;
  attempt->done = std::move(done);
  Attempts finished;
  SumPtr sum;
  bool add = false;
  {
    MutexLock lock(mu_);
    sum = sum_;
    takes_.push_back(attempt);
    CloseIfDue(&finished);
    add = sum->taker != nullptr && BeginAdding(*sum);
    if (!attempt->finished && cancellation != nullptr &&
        !cancellation->Register([self = Ref<Accumulator>::Share(this), attempt] { self->Cancel(attempt); },
                                &attempt->token)) {
      takes_.remove(attempt);
      attempt->finished = true;
      attempt->result = cancellation->status();
      finished.push_back(attempt);
    }
  }
  if (add) AddWaiting(sum, pool, attempt.get()).IgnoreError();  // the attempt is told
  Report(finished, attempt.get());
}

void Accumulator::Cancel(const AttemptPtr& attempt) {
  Attempts finished;
  SumPtr sum;
  bool add = false;
  {
    MutexLock lock(mu_);
    if (attempt->finished) return;
    takes_.remove(attempt);
    attempt->finished = true;
    attempt->token = -1;
    attempt->result = errors::Cancelled("TakeGrad operation was cancelled");
    finished.push_back(attempt);
    sum = sum_;
    CloseIfDue(&finished);  // the next take may need fewer
    add = sum->taker != nullptr && BeginAdding(*sum);
  }
  if (add) AddWaiting(sum, nullptr, nullptr).IgnoreError();
  Report(finished, nullptr);
}

void Accumulator::Report(const Attempts& finished, const Attempt* own) {
  for (const AttemptPtr& a : finished) {
    if (a->token >= 0) a->cancellation->TryDeregister(a->token);
    auto call = [a] { a->done(std::move(a->result)); };
    if (a.get() == own || a->pool == nullptr)
      call();
    else
      a->pool->Schedule(std::function<void()>(std::move(call)));
  }
}

void Accumulator::SetGlobalStep(int64_t step) {
  MutexLock lock(mu_);
  if (step < global_step_) {
    LogWarning(absl::StrCat("Accumulator ", options_.name, ": global step set back from ", global_step_, " to ", step));
  }
  global_step_ = step;
  Show();
}

void Accumulator::WasTaken(int64_t step) {
  MutexLock lock(mu_);
  global_step_ = std::max(global_step_, step);
  Show();
}

int64_t Accumulator::NumAccumulated() {
  MutexLock lock(mu_);
  return count_;
}

}  // namespace millstream
