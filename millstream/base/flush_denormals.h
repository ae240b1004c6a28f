// SPDX-License-Identifier: Apache-2.0
#ifndef MILLSTREAM_BASE_FLUSH_DENORMALS_H_
#define MILLSTREAM_BASE_FLUSH_DENORMALS_H_

#ifdef __SSE__
#include <xmmintrin.h>
#endif

namespace millstream {

// While it lives, this thread takes and makes zeros in place of denormal numbers, as TensorFlow's threads do: they are
// slow on most processors. Only on those with SSE.
class FlushDenormals {
 public:
#ifdef __SSE__
  FlushDenormals() : before_(_mm_getcsr()) {
    if ((before_ & kFlush) != kFlush) _mm_setcsr(before_ | kFlush);
  }
  ~FlushDenormals() {
    if ((before_ & kFlush) != kFlush) _mm_setcsr((_mm_getcsr() & ~kFlush) | (before_ & kFlush));
  }
#else
  FlushDenormals() {}
  ~FlushDenormals() {}
#endif
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
#ifdef __SSE__
  static constexpr unsigned kFlush = 0x8040;  // of results, of operands
  const unsigned before_;
#endif
};

}  // namespace millstream

#endif  // MILLSTREAM_BASE_FLUSH_DENORMALS_H_
