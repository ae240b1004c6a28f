// SPDX-License-Identifier: Apache-2.0
// What the vector operations of all instruction sets share. Included by one .cc
// for each (hence no guard), after it has defined MILLSTREAM_TARGET (the target
// attribute, or nothing).
//
// A macro, since the names of the intrinsics are all that differs. The structs
// that use it, and every template over them, belong into an unnamed namespace:
// of functions with external linkage the linker keeps one copy for the whole
// library, which may be that of an instruction set the processor does not have.

#define MILLSTREAM_OP MILLSTREAM_TARGET static inline __attribute__((always_inline))

// Members of a struct with the types T and Reg; the intrinsics are called
// mm_<operation>_p.
#define MILLSTREAM_VECTOR_OPS(mm, p)                                     \
  MILLSTREAM_OP Reg Zero() { return mm##_setzero_##p(); }                \
  MILLSTREAM_OP Reg Set(T x) { return mm##_set1_##p(x); }                \
  MILLSTREAM_OP Reg Load(const T* from) { return mm##_loadu_##p(from); } \
  MILLSTREAM_OP void Store(T* to, Reg x) { mm##_storeu_##p(to, x); }     \
  MILLSTREAM_OP Reg Add(Reg x, Reg y) { return mm##_add_##p(x, y); }     \
  MILLSTREAM_OP Reg Mul(Reg x, Reg y) { return mm##_mul_##p(x, y); }     \
  MILLSTREAM_OP Reg Max(Reg x, Reg y) { return mm##_max_##p(x, y); }     \
  MILLSTREAM_OP Reg Min(Reg x, Reg y) { return mm##_min_##p(x, y); }
