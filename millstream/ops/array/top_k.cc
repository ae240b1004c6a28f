// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <limits>
#include <utility>
#include <vector>

#include "millstream/math/simd.h"
#include "millstream/ops/elements/axes.h"
#include "millstream/ops/gradients/shape_of.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

using TopKIndexTypes = Types<int16_t, int32_t, int64_t>;

// Unsigned keys in the order of the results: larger values come first, NaN after all others.
template <typename T>
MILLSTREAM_ALWAYS_INLINE auto KeyOf(T value) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::conditional_t<sizeof(T) == sizeof(uint64_t), uint64_t, uint32_t>;
    constexpr U kSign = std::is_signed_v<T> ? U{1} << (8 * sizeof(U) - 1) : U{0};
    return static_cast<U>(~(static_cast<U>(static_cast<std::make_signed_t<U>>(value)) ^ kSign));
  } else {
    using F = Compute<T>;
    using U = std::conditional_t<sizeof(F) == sizeof(uint64_t), uint64_t, uint32_t>;
    constexpr U kSign = U{1} << (8 * sizeof(U) - 1);
    const F x = static_cast<F>(value);
    const U bits = x == F(0) ? U{0} : std::bit_cast<U>(x);  // zeros of both signs are equal
    const U key = (bits & kSign) != 0 ? bits : static_cast<U>(~bits & ~kSign);
    return x != x ? static_cast<U>(~U{0}) : key;
  }
}

// An element: its key and its place. Equal keys stay in the order of their places.
template <typename U>
struct Item {
  U key;
  uint32_t place;
  bool operator<(const Item& o) const { return key != o.key ? key < o.key : place < o.place; }
};

// Sorts by keys, digit by digit from the lowest. Returns the one of the two arrays that holds the result.
template <typename U>
Item<U>* RadixSort(Item<U>* items, Item<U>* other, int64_t n) {
  constexpr int kBits = 11, kBuckets = 1 << kBits, kDigits = (8 * sizeof(U) + kBits - 1) / kBits;
  std::vector<uint32_t> counts(static_cast<size_t>(kDigits * kBuckets), 0);
  for (int64_t i = 0; i < n; ++i) {
    for (int d = 0; d < kDigits; ++d) ++counts[d * kBuckets + ((items[i].key >> (d * kBits)) & (kBuckets - 1))];
  }
  for (int d = 0; d < kDigits; ++d) {
    uint32_t* count = &counts[d * kBuckets];
    const auto digit = [d](const Item<U>& item) { return (item.key >> (d * kBits)) & (kBuckets - 1); };
    if (count[digit(items[0])] == n) continue;  // all have the same digit here
    uint32_t begin = 0;
    for (int b = 0; b < kBuckets; ++b) begin += std::exchange(count[b], begin);
    for (int64_t i = 0; i < n; ++i) other[count[digit(items[i])]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

// Whether a radix sort of all items is cheaper than a heap of the first k: it takes the same time for every k, and some
// for its counts.
bool SortsAll(int64_t n, int64_t k) { return k > n / 32 && n > 256; }

// The first k of the n items come to the front, in order. Returns where they are. `other` is used if SortsAll().
template <typename U>
const Item<U>* SortFirst(Item<U>* items, Item<U>* other, int64_t n, int64_t k) {
  if (SortsAll(n, k)) return RadixSort(items, other, n);
  std::partial_sort(items, items + k, items + n);
  return items;
}

// The places of the k first elements of rows of n.
template <typename T>
class RowSelection {
 public:
  RowSelection(int64_t n, int64_t k) : n_(n), k_(k), items_(k == 1 ? 0 : n), other_(k > 1 && SortsAll(n, k) ? n : 0) {}

  // Calls write(i, place) for 0 <= i < k.
  template <typename Write>
  void Run(const T* row, Write write) {
    if (k_ == 1) return write(0, First(row));
    Key* items = items_.data();
    for (int64_t i = 0; i < n_; ++i) items[i] = {KeyOf(row[i]), static_cast<uint32_t>(i)};
    const Key* first = SortFirst(items, other_.data(), n_, k_);
    for (int64_t i = 0; i < k_; ++i) write(i, int64_t{first[i].place});
  }

 private:
  using Key = Item<decltype(KeyOf(T()))>;

  // The place of the first of the least keys: the key first, a block at a time, then where it is.
  int64_t First(const T* row) const {
    using U = decltype(KeyOf(T()));
    constexpr int64_t kLanes = 256 / sizeof(U), kBlock = 8 * kLanes;
    struct Found {
      U least;
      int64_t at;  // it is there or behind
    };
    const Found found = simd::Run<float>([=, n = n_]() MILLSTREAM_INLINE_LAMBDA {
      Found best{KeyOf(row[0]), 0};
      int64_t i = 0;
      for (; i + kBlock <= n; i += kBlock) {
        U keys[kLanes];
        for (int64_t j = 0; j < kLanes; ++j) keys[j] = KeyOf(row[i + j]);
        for (int64_t k = i + kLanes; k < i + kBlock; k += kLanes) {
          MILLSTREAM_INDEPENDENT_LOOP
          for (int64_t j = 0; j < kLanes; ++j) {
            const U key = KeyOf(row[k + j]);
            keys[j] = key < keys[j] ? key : keys[j];
          }
        }
        U least = keys[0];
        for (int64_t j = 1; j < kLanes; ++j) least = keys[j] < least ? keys[j] : least;
        if (least < best.least) best = {least, i};
      }
      for (; i < n; ++i) {
        if (KeyOf(row[i]) < best.least) best = {KeyOf(row[i]), i};
      }
      return best;
    });
    const U least = found.least;
    int64_t at = found.at;
    while (KeyOf(row[at]) != least) ++at;
    return at;
  }

  const int64_t n_, k_;
  std::vector<Key> items_, other_;
};

template <typename T>
class TopKKernel : public Kernel {
 public:
  explicit TopKKernel(KernelInit& init) : k_(init.HasAttr("k") ? init.Attr<int64_t>("k") : -1) {
    if (init.op().name != "ApproxTopK") return;
    if (init.Attr<int64_t>("reduction_dimension") != -1 || !init.Attr<bool>("is_max_k")) {
      init.Fail(errors::Unimplemented("ApproxTopK finds the largest values of the last dimension only"));
    }
  }

  Status Compute(KernelContext& ctx) override {
    const Tensor& in = ctx.input(0);
    int64_t k = k_;
    if (k < 0) {
      if (ctx.input(1).rank() != 0)
        return errors::InvalidArgument("k must be scalar, got shape ", ctx.input(1).shape().ToString());
      RETURN_IF_ERROR(ReadIntScalar(ctx.input(1), "k", &k));
    }
    if (k < 0) return errors::InvalidArgument("Need k >= 0, got ", k);
    if (in.rank() < 1) return errors::InvalidArgument("input must be >= 1-D, got shape ", in.shape().ToString());
    const int64_t n = in.dim(in.rank() - 1);
    if (n < k) return errors::InvalidArgument("input must have at least k columns. Had ", n, ", needed ", k);
    Dims dims(in.shape().dims().begin(), in.shape().dims().end());
    dims.back() = k;
    ASSIGN_OR_RETURN(const Shape shape, MakeShape(dims));
    ASSIGN_OR_RETURN(Tensor * values, ctx.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * indices, ctx.AllocateOutput(1, shape));
    if (shape.num_elements() == 0) return OkStatus();
    const T* x = in.data<T>();
    T* y = values->data<T>();
    if (n > std::numeric_limits<uint32_t>::max()) return errors::Unimplemented("TopK of rows of ", n, " elements");
    const double cost = static_cast<double>(n) * (k == 1 ? 1.0 : 4.0);
    DispatchOver(TopKIndexTypes{}, indices->dtype(), [&](auto type) {
      using Index = typename decltype(type)::type;
      Index* places = indices->data<Index>();
      ctx.ParallelFor(shape.num_elements() / k, cost, [&](int64_t begin, int64_t end) {
        RowSelection<T> selection(n, k);
        for (int64_t row = begin; row < end; ++row) {
          selection.Run(x + row * n, [&](int64_t i, int64_t place) {
            y[row * k + i] = x[row * n + place];
            places[row * k + i] = static_cast<Index>(place);
          });
        }
      });
    });
    return OkStatus();
  }

 private:
  const int64_t k_;
};

Status TopKShapes(ShapeContext& c, int64_t k) {
  PartialShape in;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 1, &in));
  if (!in.rank_known()) return OkStatus();
  const int64_t n = in.dim(in.rank() - 1);
  if (k >= 0 && n >= 0 && n < k)
    return errors::InvalidArgument("input must have last dimension >= k = ", k, " but is ", n);
  in.set_dim(in.rank() - 1, k);
  c.set_output(0, in);
  c.set_output(1, std::move(in));
  return OkStatus();
}

Status TopKShape(ShapeContext& c) {
  int64_t k = 0;
  RETURN_IF_ERROR(c.GetAttr("k", &k));
  return TopKShapes(c, k);
}

Status TopKV2Shape(ShapeContext& c) {
  int64_t k = -1;
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 0, &scalar));
  if (c.ConstantInt(1, &k) && k < 0) return errors::InvalidArgument("Need k >= 0, got ", k);
  return TopKShapes(c, k);
}

// dy goes to the places in the input that the values came from.
Status TopKGrad(GradContext& g) {
  const auto scalar_at_end = [&](Output shape) {
    return g.Op("StridedSlice", {shape, ConstInts(g, {-1}), ConstInts(g, {0}), ConstInts(g, {1})},
                {{"shrink_axis_mask", 1}});
  };
  const Output shape = ShapeOf(g, g.input(0));
  const Output n = scalar_at_end(shape), k = scalar_at_end(ShapeOf(g, g.output(0)));
  Output places = g.output(1);
  if (places.dtype() != DType::kInt32) places = g.Op("Cast", {places}, {{"DstT", DType::kInt32}});
  places = g.Op("Reshape", {places, g.Op("Pack", {g.scope().Const(-1), k})});
  const Output rows =
      g.Op("Prod", {g.Op("Slice", {g.Op("Shape", {places}), ConstInts(g, {0}), ConstInts(g, {1})}), ConstInts(g, {0})});
  const Output starts = g.Op("Mul", {g.Op("Range", {g.scope().Const(0), rows, g.scope().Const(1)}), n});
  places = g.Op("AddV2", {places, g.Op("ExpandDims", {starts, g.scope().Const(-1)})});
  places = g.Op("Reshape", {places, g.scope().Constant({-1, 1})});
  const Output total = g.Op("Prod", {shape, ConstInts(g, {0})}, {{"keep_dims", true}});
  const Output flat = g.Op("ScatterNd", {places, g.Op("Reshape", {g.dy(0), ConstInts(g, {-1})}), total});
  g.set_dx(0, g.Op("Reshape", {flat, shape}));
  return OkStatus();
}

OP("TopK")
    .Input("input: T")
    .Output("values: T")
    .Output("indices: int32")
    .Attr("k: int >= 0")
    .Attr("sorted: bool = true")
    .Attr("T: realnumbertype")
    .Shape(TopKShape)
    .Gradient(TopKGrad)
    .Cpu<TopKKernel>(RealTypes{}, "T")
    .Doc("The k largest values along the last dimension and their places.");

Status ApproxTopKShape(ShapeContext& c) {
  int64_t k = 0, dimension = -1;
  bool aggregate = true;
  RETURN_IF_ERROR(c.GetAttr("k", &k));
  RETURN_IF_ERROR(c.GetAttr("reduction_dimension", &dimension));
  RETURN_IF_ERROR(c.GetAttr("aggregate_to_topk", &aggregate));
  return aggregate && dimension == -1 ? TopKShapes(c, k) : OkStatus();
}

OP("ApproxTopK")
    .Input("input: T")
    .Output("values: T")
    .Output("indices: int32")
    .Attr("k: int >= 0")
    .Attr("reduction_dimension: int = -1")
    .Attr("recall_target: float = 0.95")
    .Attr("is_max_k: bool = true")
    .Attr("reduction_input_size_override: int = -1")
    .Attr("aggregate_to_topk: bool = true")
    .Attr("T: {half, bfloat16, float}")
    .Shape(ApproxTopKShape)
    .Gradient(TopKGrad)
    .Cpu<TopKKernel>(Types<Half, BFloat16, float>{}, "T")
    .Doc("The k largest values along the last dimension and their places: all of them, here.");

OP("TopKV2")
    .Input("input: T")
    .Input("k: Tk")
    .Output("values: T")
    .Output("indices: index_type")
    .Attr("sorted: bool = true")
    .Attr("T: realnumbertype")
    .Attr("Tk: {int16, int32, int64} = DT_INT32")
    .Attr("index_type: {int16, int32, int64} = DT_INT32")
    .Shape(TopKV2Shape)
    .Gradient(TopKGrad)
    .Cpu<TopKKernel>(RealTypes{}, "T")
    .HostMemory("k")
    .Doc("The k largest values along the last dimension and their places.");

}  // namespace
}  // namespace millstream
