// SPDX-License-Identifier: Apache-2.0
#include "tests/golden_compare.h"

#include <google/protobuf/util/message_differencer.h>

#include <algorithm>
#include <cmath>

#include "millstream/proto/summary.pb.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

template <typename T>
void AppendDoubles(const Tensor& tensor, std::vector<double>* out) {
  for (const T& v : tensor.flat<T>()) {
    if constexpr (kIsComplex<T>) {
      out->push_back(v.real());
      out->push_back(v.imag());
    } else {
      out->push_back(static_cast<double>(v));
    }
  }
}

bool Close(double got, double want, Tolerance tolerance) {
  if (std::isnan(want)) return std::isnan(got);
  if (got == want) return true;
  if (std::isinf(want) || std::isinf(got)) return false;
  return std::abs(got - want) <= tolerance.absolute + tolerance.relative * std::abs(want);
}

template <typename T>
int64_t FirstUnequal(const Tensor& got, const Tensor& want) {
  const auto a = got.flat<T>(), b = want.flat<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return static_cast<int64_t>(i);
  }
  return -1;
}

int64_t FirstDifference(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  switch (want.dtype()) {
    case DType::kString:
      return FirstUnequal<std::string>(got, want);
    case DType::kBool:
      return FirstUnequal<bool>(got, want);
    case DType::kInt64:
      return FirstUnequal<int64_t>(got, want);
    case DType::kUint64:
      return FirstUnequal<uint64_t>(got, want);
    default:
      break;
  }
  const std::vector<double> a = ToDoubles(got), b = ToDoubles(want);
  for (size_t i = 0; i < b.size(); ++i) {
    if (!Close(a[i], b[i], tolerance)) return static_cast<int64_t>(IsComplex(want.dtype()) ? i / 2 : i);
  }
  return -1;
}

std::string Element(const Tensor& tensor, int64_t i) {
  const Tensor flat = tensor.Reshaped(Shape({tensor.num_elements()}));
  return flat.SliceRows(i, i + 1).SummarizeValue();
}

}  // namespace

std::vector<double> ToDoubles(const Tensor& tensor) {
  std::vector<double> out;
  MS_CHECK(DispatchOver(NumberAndBoolTypes{}, tensor.dtype(),
                        [&]<typename T>(std::type_identity<T>) { AppendDoubles<T>(tensor, &out); }));
  return out;
}

Tolerance ToleranceFor(const GoldenCase& c, DType dtype) {
  Tolerance t{1e-5, 1e-6};
  if (const auto it = c.meta.collection_def().find("tolerance"); it != c.meta.collection_def().end()) {
    t = {it->second.float_list().value(0), it->second.float_list().value(1)};
  }
  switch (dtype) {
    case DType::kFloat:
    case DType::kComplex64:
      return t;
    case DType::kDouble:
    case DType::kComplex128:
      return {t.relative * 1e-4, t.absolute * 1e-5};
    case DType::kHalf:
      return {std::max(t.relative, 2e-3), std::max(t.absolute, 1e-4)};
    case DType::kBfloat16:
      return {std::max(t.relative, 1.6e-2), std::max(t.absolute, 1e-3)};
    default:
      return {};
  }
}

::testing::AssertionResult SameTensor(const Tensor& got, const Tensor& want, Tolerance tolerance) {
  if (!got.IsInitialized()) return ::testing::AssertionFailure() << "no value; want " << want.DebugString();
  if (got.dtype() != want.dtype() || got.shape() != want.shape()) {
    return ::testing::AssertionFailure() << "got " << got.DebugString() << "\nwant " << want.DebugString();
  }
  const int64_t at = FirstDifference(got, want, tolerance);
  if (at < 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "element " << at << ": got " << Element(got, at) << ", want "
                                       << Element(want, at) << "\ngot " << got.DebugString() << "\nwant "
                                       << want.DebugString();
}

::testing::AssertionResult SameSummary(const Tensor& got, const Tensor& want) {
  if (got.dtype() != DType::kString || !(got.shape() == want.shape())) return SameTensor(got, want, {});
  proto::Summary a, b;
  if (!a.ParseFromString(got.scalar<std::string>()) || !b.ParseFromString(want.scalar<std::string>())) {
    return ::testing::AssertionFailure() << "not a summary";
  }
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_float_comparison(google::protobuf::util::DefaultFieldComparator::APPROXIMATE);
  comparator.SetDefaultFractionAndMargin(1e-6, 1e-9);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  differencer.IgnoreField(proto::Summary::Image::descriptor()->FindFieldByName("encoded_image_string"));
  std::string difference;
  differencer.ReportDifferencesToString(&difference);
  if (differencer.Compare(a, b)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << difference;
}

}  // namespace millstream
