// SPDX-License-Identifier: Apache-2.0
#include "millstream/ops/nn/batch_norm_second_gradient.h"

namespace millstream {
namespace {

// Values of images, and of channels as images of one pixel, so that they meet by broadcasting; all in float.
//
// With n the images of mean 0 and variance 1, r = 1 / sqrt(variance + epsilon), and Rest(u) = u - mean(u) - n mean(u
// n), what is differentiated here is: gradient of x = scale r Rest(dy), of scale = sum(dy n), of offset = sum(dy).
// Rest() is symmetric: sum(u Rest(w)) = sum(w Rest(u)). And n passes a gradient w on to x as r Rest(w).
class SecondGradient {
 public:
  explicit SecondGradient(GradContext& g) : g_(g), format_(g.Attr<std::string>("data_format")) {
    for (size_t i = 0; i < format_.size(); ++i) {
      if (format_[i] == 'C') continue;
      axes_.push_back(static_cast<int32_t>(i));
    }
  }

  Status Run() {
    const bool training = g_.Attr<bool>("is_training");
    const Output x = Wide(g_.input(1));
    const Output mean = training ? Mean(x) : Channels(g_.input(3));
    const Output centered = Sub(x, mean);
    const Output variance = training ? Mean(Mul(centered, centered)) : Channels(g_.input(4));
    root_ = g_.Op("Rsqrt", {Add(variance, g_.ConstLike(variance, static_cast<double>(g_.Attr<float>("epsilon"))))});
    normal_ = Mul(centered, root_);
    dy_ = Wide(g_.input(0));
    scale_ = Channels(g_.input(2));
    to_x_ = Wide(g_.dy(0));
    to_scale_ = Channels(g_.dy(1));
    to_offset_ = Channels(g_.dy(2));
    training ? OfBatch() : OfGiven();
    return g_.status();
  }

 private:
  void OfBatch() {
    const Output mean_dy = Mean(Mul(dy_, normal_)), mean_to_x = Mean(Mul(to_x_, normal_));
    const Output rest_dy = Rest(dy_, mean_dy), rest_to_x = Rest(to_x_, mean_to_x);
    const Output both = Mul(to_x_, rest_dy), slope = Mul(scale_, root_);
    SetDy(Mul(slope, rest_to_x));
    SetScale(both);
    // x changes the normalized images, and r, of which each value holds its share.
    const Output to_normal = Sub(Mul(to_scale_, dy_), Mul(slope, Add(Mul(to_x_, mean_dy), Mul(dy_, mean_to_x))));
    const Output by_root = Mul(Mul(Mul(slope, root_), Mean(both)), normal_);
    SetX(Sub(Mul(root_, Rest(to_normal, Mean(Mul(to_normal, normal_)))), by_root));
  }

  void OfGiven() {
    SetDy(Mul(Mul(scale_, root_), to_x_));
    SetScale(Mul(to_x_, dy_));
    SetX(Mul(Mul(to_scale_, root_), dy_));
  }

  void SetDy(Output by_x) { g_.set_dx(0, Narrow(Add(Add(by_x, Mul(to_scale_, normal_)), to_offset_))); }
  void SetX(Output dx) { g_.set_dx(1, Narrow(dx)); }
  // `product`: the gradient arriving at the gradient of x, times what scale is multiplied with there, without r.
  void SetScale(Output product) {
    const Output sum = g_.Op("Sum", {product, g_.scope().Const(Axes())}, {{"keep_dims", true}});
    g_.set_dx(2, g_.Op("Reshape", {Mul(sum, root_), g_.scope().Const(Tensor::Vector<int32_t>({-1}))}));
  }

  Output Add(Output a, Output b) const { return g_.Op("AddV2", {a, b}); }
  Output Sub(Output a, Output b) const { return g_.Op("Sub", {a, b}); }
  Output Mul(Output a, Output b) const { return g_.Op("Mul", {a, b}); }
  Tensor Axes() const { return Tensor::Vector<int32_t>(axes_); }
  Output Mean(Output images) const { return g_.Op("Mean", {images, g_.scope().Const(Axes())}, {{"keep_dims", true}}); }
  Output Rest(Output images, Output mean_of_product) const {
    return Sub(Sub(images, Mean(images)), Mul(normal_, mean_of_product));
  }
  Output Wide(Output images) const {
    return images.dtype() == DType::kFloat ? images : g_.Op("Cast", {images}, {{"DstT", DType::kFloat}});
  }
  Output Narrow(Output images) const {
    const DType wanted = g_.input(1).dtype();
    return wanted == DType::kFloat ? images : g_.Op("Cast", {images}, {{"DstT", wanted}});
  }
  Output Channels(Output vector) const {
    std::vector<int32_t> shape(format_.size(), 1);
    shape[format_.find('C')] = -1;
    return g_.Op("Reshape", {vector, g_.scope().Const(Tensor::Vector<int32_t>(shape))});
  }

  GradContext& g_;
  const std::string format_;
  std::vector<int32_t> axes_;
  Output root_, normal_, dy_, scale_;
  Output to_x_, to_scale_, to_offset_;  // what arrives
};

}  // namespace

Status BatchNormSecondGradient(GradContext& g) { return SecondGradient(g).Run(); }

}  // namespace millstream
