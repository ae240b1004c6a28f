// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_MATH_SOFTMAX_H_
#define MILLSTREAM_MATH_SOFTMAX_H_

#include <cstdint>

#include "millstream/base/thread_pool.h"

// Softmax and its losses over the rows of [rows, classes] arrays, split between
// the threads of `pool` (null: this thread alone). T is float or double
// (compiled for every instruction set, in softmax.cc) or a 16-bit float
// (computed in float, rounded once). Outputs may be the same array as the
// logits. Nothing is done if `rows` or `classes` is 0.
namespace millstream::math {

struct RowShape {
  int64_t rows;
  int64_t classes;
};

// out = exp(logits) / sum(exp(logits))
template <typename T>
void Softmax(const T* logits, T* out, RowShape shape, ThreadPool* pool);

// out = logits - log(sum(exp(logits)))
template <typename T>
void LogSoftmax(const T* logits, T* out, RowShape shape, ThreadPool* pool);

// loss[row] = -sum(labels * log_softmax(logits)); backprop = softmax(logits) -
// labels. `labels` is [rows, classes]; `backprop` may also be `labels`.
template <typename T>
void SoftmaxCrossEntropy(const T* logits, const T* labels, T* loss, T* backprop, RowShape shape, ThreadPool* pool);

// The same with labels given by class number, [rows]. A label outside [0,
// classes) makes the loss and the backprop of its row NaN.
template <typename T, typename Label>
void SparseSoftmaxCrossEntropy(const T* logits, const Label* labels, T* loss, T* backprop, RowShape shape,
                               ThreadPool* pool);

}  // namespace millstream::math

#include "millstream/math/softmax_inl.h"

#endif  // MILLSTREAM_MATH_SOFTMAX_H_
