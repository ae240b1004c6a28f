// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/flow/summary.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "millstream/tensor/dispatch.h"
#include "millstream/tensor/encoded_variant.h"

namespace millstream {
namespace {

// Six digits where they are enough to tell the number from its neighbours.
template <typename T>
std::string Shortest(T value) {
  std::string text = absl::StrFormat("%.6g", value);
  double back = 0;
  if (absl::SimpleAtod(text, &back) && static_cast<T>(back) == value) return text;
  return sizeof(T) == sizeof(float) ? absl::StrFormat("%.9g", value) : absl::StrFormat("%.17g", value);
}

template <typename T>
std::string Element(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return value;
  else if constexpr (std::is_same_v<T, ResourceHandle>)
    return absl::StrCat("<", value.type_name, " ", value.name, ">");
  else if constexpr (std::is_same_v<T, Variant>)
    return NumberOf(value) ? ShowVariant(value) : absl::StrCat("<", value.type_name(), ">");
  else if constexpr (kIsComplex<T>)
    return absl::StrCat("(", Shortest(value.real()), ",", Shortest(value.imag()), ")");
  else if constexpr (kIsFloat16<T>)
    return absl::StrFormat("%g", static_cast<float>(value));
  else if constexpr (std::is_floating_point_v<T>)
    return Shortest(value);
  else if constexpr (sizeof(T) == 1)
    return absl::StrCat(static_cast<int>(value));
  else
    return absl::StrCat(value);
}

template <typename T>
class Printer {
 public:
  Printer(const Tensor& t, int64_t limit) : shape_(t.shape()), data_(t.data<T>()), limit_(limit) {}

  std::string Print() {
    Dimension(0);
    if (shape_.num_elements() > limit_) out_ += "...";
    return std::move(out_);
  }

 private:
  bool full() const { return next_ >= limit_; }

  void Dimension(int axis) {
    if (full()) return;
    if (axis == shape_.rank()) {
      out_ += Element(data_[next_++]);
      return;
    }
    const bool last = axis + 1 == shape_.rank();
    for (int64_t i = 0; i < shape_.dim(axis); ++i) {
      if (full()) {
        if (last && axis > 0) out_ += "...";
        return;
      }
      if (last && i > 0) out_ += " ";
      if (!last) out_ += "[";
      Dimension(axis + 1);
      if (!last) out_ += "]";
    }
  }

  const Shape& shape_;
  const T* const data_;
  const int64_t limit_;
  int64_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string SummarizeForPrint(const Tensor& tensor, int64_t limit) {
  std::string out;
  if (!tensor.IsInitialized() || tensor.num_elements() == 0) return out;
  if (limit < 0) limit = tensor.num_elements();
  DispatchType(tensor.dtype(), [&](auto type) { out = Printer<typename decltype(type)::type>(tensor, limit).Print(); });
  return out;
}

}  // namespace millstream
