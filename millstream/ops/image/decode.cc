// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>

#include "millstream/framework/op.h"
#include "millstream/ops/image/codec.h"
#include "millstream/tensor/dispatch.h"

namespace millstream {
namespace {

StatusOr<absl::string_view> Contents(const KernelContext& ctx) {
  const Tensor& in = ctx.input(0);
  if (in.rank() != 0) return errors::InvalidArgument("contents must be scalar, got shape ", in.shape().ToString());
  return absl::string_view(in.scalar<std::string>());
}

// The image as output 0: 8 and 16 bits as they are, floats in [0, 1].
Status SetImage(KernelContext& ctx, const RawImage& image, bool frames) {
  std::vector<int64_t> dims{image.height, image.width, image.channels};
  if (frames) dims.insert(dims.begin(), image.frames);
  ASSIGN_OR_RETURN(const Shape shape, Shape::Make(dims));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, shape));
  const int64_t n = shape.num_elements();
  if (out->dtype() == DType::kFloat) {
    for (int64_t i = 0; i < n; ++i) {
      out->data<float>()[i] =
          image.deep ? static_cast<float>(reinterpret_cast<const uint16_t*>(image.pixels.data())[i]) / 65535.0f
                     : static_cast<float>(image.pixels[i]) / 255.0f;
    }
  } else if (out->dtype() == DType::kUint16 && !image.deep) {
    for (int64_t i = 0; i < n; ++i) out->data<uint16_t>()[i] = static_cast<uint16_t>(image.pixels[i] * 257);
  } else {
    std::memcpy(out->raw(), image.pixels.data(), out->ByteSize());  // of several frames the first
  }
  return OkStatus();
}

int ReadChannels(KernelInit& init) {
  const auto channels = init.Attr<int64_t>("channels");
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    init.Fail(errors::InvalidArgument("channels must be 0, 1, 3 or 4, got ", channels));
  }
  return static_cast<int>(channels);
}

JpegDecodeOptions ReadJpegOptions(KernelInit& init) {
  JpegDecodeOptions o;
  o.channels = ReadChannels(init);
  if (o.channels == 4) init.Fail(errors::InvalidArgument("channels must be 0, 1, or 3 for JPEG, got 4"));
  o.ratio = static_cast<int>(init.Attr<int64_t>("ratio"));
  if (o.ratio != 1 && o.ratio != 2 && o.ratio != 4 && o.ratio != 8) {
    init.Fail(errors::InvalidArgument("ratio must be 1, 2, 4, or 8, got ", o.ratio));
  }
  o.fancy_upscaling = init.Attr<bool>("fancy_upscaling");
  o.accept_truncated = init.Attr<bool>("try_recover_truncated");
  const auto method = init.Attr<std::string>("dct_method");
  if (!method.empty() && method != "INTEGER_FAST" && method != "INTEGER_ACCURATE") {
    init.Fail(errors::InvalidArgument("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}"));
  }
  o.fast_dct = method != "INTEGER_ACCURATE";
  return o;
}

// All decoders read all formats, as TensorFlow's do; the first frame of an animation where one image is wanted.
class DecodeAny : public Kernel {
 public:
  explicit DecodeAny(KernelInit& init) : name_(init.op().name) {
    if (init.HasAttr("channels")) jpeg_.channels = ReadChannels(init);
    if (name_ == "DecodeJpeg") jpeg_ = ReadJpegOptions(init);
    expand_ = name_ == "DecodeGif" || (init.HasAttr("expand_animations") && init.Attr<bool>("expand_animations"));
    deep_ = init.output_types()[0] != DType::kUint8;
  }

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const absl::string_view file, Contents(ctx));
    const ImageFormat format = FormatOf(file);
    if (name_ == "DecodeBmp" && format != ImageFormat::kBmp) {
      return errors::InvalidArgument("Trying to decode another format using DecodeBmp op");
    }
    RawImage image;
    switch (format) {
      case ImageFormat::kPng: {
        ASSIGN_OR_RETURN(image, DecodePng(file, jpeg_.channels, deep_));
        break;
      }
      case ImageFormat::kJpeg: {
        if (jpeg_.channels == 4) return errors::InvalidArgument("channels must be 0, 1, or 3 for JPEG, got 4");
        ASSIGN_OR_RETURN(image, DecodeJpeg(file, jpeg_));
        break;
      }
      case ImageFormat::kGif: {
        if (jpeg_.channels != 0 && jpeg_.channels != 3) {
          return errors::InvalidArgument("channels must be 0 or 3 for GIF, got ", jpeg_.channels);
        }
        ASSIGN_OR_RETURN(image, DecodeGif(file));
        if (!expand_ && image.frames > 1 && name_ != "DecodeImage") {
          return errors::InvalidArgument("Got ", image.frames,
                                         " frames, but animated gifs can only be decoded by "
                                         "tf.io.decode_gif or tf.io.decode_image");
        }
        break;
      }
      case ImageFormat::kBmp: {
        if (name_ != "DecodeBmp" && name_ != "DecodeImage") {
          return errors::InvalidArgument(
              "Trying to decode BMP format using a wrong op. Use `decode_bmp` or `decode_image` instead.");
        }
        ASSIGN_OR_RETURN(image, DecodeBmp(file, jpeg_.channels));
        break;
      }
      default:
        return errors::InvalidArgument("Unknown image file format. One of JPEG, PNG, GIF, BMP required.");
    }
    return SetImage(ctx, image, expand_ && format == ImageFormat::kGif);
  }

 private:
  const std::string name_;
  JpegDecodeOptions jpeg_;
  bool expand_ = false, deep_ = false;
};

// The window [top, left, height, width] of the image, which is decoded as a whole.
class DecodeAndCropJpeg : public Kernel {
 public:
  explicit DecodeAndCropJpeg(KernelInit& init) : options_(ReadJpegOptions(init)) {}

  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const absl::string_view file, Contents(ctx));
    const Tensor& window = ctx.input(1);
    if (window.rank() != 1 || window.dim(0) != 4) {
      return errors::InvalidArgument("crop_window must be a vector of four elements: ", window.shape().ToString());
    }
    ASSIGN_OR_RETURN(const RawImage whole, DecodeJpeg(file, options_));
    const int32_t* w = window.data<int32_t>();
    const int64_t top = w[0], left = w[1];
    RawImage part = whole;
    part.height = w[2];
    part.width = w[3];
    if (top < 0 || left < 0 || part.height <= 0 || part.width <= 0 || top + part.height > whole.height ||
        left + part.width > whole.width) {
      return errors::InvalidArgument("Invalid JPEG data or crop window, data size ", file.size());
    }
    RETURN_IF_ERROR(part.Allocate());
    const int64_t row = part.width * whole.channels;
    for (int64_t y = 0; y < part.height; ++y) {
      const int64_t from = ((top + y) * whole.width + left) * whole.channels;
      std::memcpy(part.pixels.data() + y * row, whole.pixels.data() + from, static_cast<size_t>(row));
    }
    return SetImage(ctx, part, false);
  }

 private:
  const JpegDecodeOptions options_;
};

StatusOr<RawImage> ImageInput(const Tensor& in, int64_t max_channels) {
  if (in.rank() != 3) return errors::InvalidArgument("image must be 3-dimensional", in.shape().ToString());
  if (in.num_elements() == 0) return errors::InvalidArgument("image must not be empty");
  RawImage image;
  image.height = in.dim(0);
  image.width = in.dim(1);
  image.channels = in.dim(2);
  if (image.channels < 1 || image.channels > max_channels) {
    return errors::InvalidArgument("image must have 1, 2, 3, or 4 channels, got ", image.channels);
  }
  image.deep = in.dtype() == DType::kUint16;
  RETURN_IF_ERROR(image.Allocate());
  std::memcpy(image.pixels.data(), in.raw(), image.pixels.size());
  return image;
}

class EncodePngKernel : public Kernel {
 public:
  explicit EncodePngKernel(KernelInit& init) : level_(init.Attr<int>("compression")) {
    if (level_ < -1 || level_ > 9) init.Fail(errors::InvalidArgument("compression should be in [-1,9], got ", level_));
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RawImage image, ImageInput(ctx.input(0), 4));
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    ASSIGN_OR_RETURN(out->scalar<std::string>(), EncodePng(image, level_));
    return OkStatus();
  }

 private:
  const int level_;
};

class EncodeJpegKernel : public Kernel {
 public:
  explicit EncodeJpegKernel(KernelInit& init) : format_(init.Attr<std::string>("format")) {
    options_.quality = init.Attr<int>("quality");
    if (options_.quality < 0 || options_.quality > 100) {
      init.Fail(errors::InvalidArgument("quality must be in [0,100], got ", options_.quality));
    }
    options_.progressive = init.Attr<bool>("progressive");
    options_.optimize_size = init.Attr<bool>("optimize_size");
    options_.chroma_downsampling = init.Attr<bool>("chroma_downsampling");
    options_.per_inch = init.Attr<std::string>("density_unit") == "in";
    options_.x_density = init.Attr<int>("x_density");
    options_.y_density = init.Attr<int>("y_density");
  }
  Status Compute(KernelContext& ctx) override {
    ASSIGN_OR_RETURN(const RawImage image, ImageInput(ctx.input(0), 3));
    if (image.channels == 2) return errors::InvalidArgument("image must have 1 or 3 channels, got 2");
    if (format_ == "grayscale" && image.channels != 1) {
      return errors::InvalidArgument("format 'grayscale' expects 1 channel, got ", image.channels);
    }
    if (format_ == "rgb" && image.channels != 3) {
      return errors::InvalidArgument("format 'rgb' expects 3 channels, got ", image.channels);
    }
    ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
    ASSIGN_OR_RETURN(out->scalar<std::string>(), EncodeJpeg(image, options_));
    return OkStatus();
  }

 private:
  const std::string format_;
  JpegEncodeOptions options_;
};

Status EncodeJpegVariableQuality(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const RawImage image, ImageInput(ctx.input(0), 3));
  if (image.channels == 2) return errors::InvalidArgument("image must have 1 or 3 channels, got 2");
  const Tensor& quality = ctx.input(1);
  if (quality.rank() != 0) return errors::InvalidArgument("quality must be scalar: ", quality.shape().ToString());
  JpegEncodeOptions options;
  options.quality = quality.scalar<int32_t>();
  if (options.quality < 0 || options.quality > 100) {
    return errors::InvalidArgument("quality must be in [0,100], got ", options.quality);
  }
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape()));
  ASSIGN_OR_RETURN(out->scalar<std::string>(), EncodeJpeg(image, options));
  return OkStatus();
}

Status ExtractJpegShapeCpu(KernelContext& ctx) {
  ASSIGN_OR_RETURN(const absl::string_view file, Contents(ctx));
  ASSIGN_OR_RETURN(const RawImage image, JpegShape(file));
  ASSIGN_OR_RETURN(Tensor * out, ctx.AllocateOutput(0, Shape({3})));
  DispatchOver(IndexTypes{}, out->dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    out->data<T>()[0] = static_cast<T>(image.height);
    out->data<T>()[1] = static_cast<T>(image.width);
    out->data<T>()[2] = static_cast<T>(image.channels);
  });
  return OkStatus();
}

Status DecodeShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &scalar));
  int64_t channels = 0;
  RETURN_IF_ERROR(c.GetAttr("channels", &channels));
  if (channels < 0) return errors::InvalidArgument("channels must be non-negative, got ", channels);
  c.set_output(0, PartialShape({-1, -1, channels == 0 ? -1 : channels}));
  return OkStatus();
}
Status GifShape(ShapeContext& c) {
  PartialShape scalar;
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(0), 0, &scalar));
  c.set_output(0, PartialShape({-1, -1, -1, 3}));
  return OkStatus();
}
Status CropShape(ShapeContext& c) {
  PartialShape window;
  RETURN_IF_ERROR(DecodeShape(c));
  RETURN_IF_ERROR(ShapeContext::WithRank(c.input(1), 1, &window));
  int64_t four = 4;
  RETURN_IF_ERROR(ShapeContext::MergeDim(window.dim(0), four, &four));
  std::vector<int64_t> sizes;
  if (!c.ConstantInts(1, &sizes) || sizes.size() != 4) return OkStatus();
  c.set_output(0, PartialShape({std::max<int64_t>(sizes[2], -1), std::max<int64_t>(sizes[3], -1), c.output(0).dim(2)}));
  return OkStatus();
}
Status EncodeShape(ShapeContext& c) {
  PartialShape image;
  RETURN_IF_ERROR(ShapeContext::WithRankAtLeast(c.input(0), 3, &image));
  c.set_output(0, Shape());
  return OkStatus();
}
Status JpegShapeShape(ShapeContext& c) { return c.set_output(0, PartialShape({3})), OkStatus(); }

OP("DecodePng")
    .Input("contents: string")
    .Output("image: dtype")
    .Attr("channels: int = 0")
    .Attr("dtype: {uint8, uint16} = DT_UINT8")
    .Shape(DecodeShape)
    .Cpu<DecodeAny>()
    .Expensive()
    .Doc("The pixels of a PNG file.");

OP("DecodeJpeg")
    .Input("contents: string")
    .Output("image: uint8")
    .Attr("channels: int = 0")
    .Attr("ratio: int = 1")
    .Attr("fancy_upscaling: bool = true")
    .Attr("try_recover_truncated: bool = false")
    .Attr("acceptable_fraction: float = 1.0")
    .Attr("dct_method: string = ''")
    .Shape(DecodeShape)
    .Cpu<DecodeAny>()
    .Expensive()
    .Doc("The pixels of a JPEG file.");

OP("DecodeAndCropJpeg")
    .Input("contents: string")
    .Input("crop_window: int32")
    .Output("image: uint8")
    .Attr("channels: int = 0")
    .Attr("ratio: int = 1")
    .Attr("fancy_upscaling: bool = true")
    .Attr("try_recover_truncated: bool = false")
    .Attr("acceptable_fraction: float = 1.0")
    .Attr("dct_method: string = ''")
    .Shape(CropShape)
    .Cpu<DecodeAndCropJpeg>()
    .Expensive()
    .HostMemory("crop_window")
    .Doc("A window of the pixels of a JPEG file.");

OP("DecodeGif")
    .Input("contents: string")
    .Output("image: uint8")
    .Shape(GifShape)
    .Cpu<DecodeAny>()
    .Expensive()
    .Doc("The frames of a GIF file.");

OP("DecodeBmp")
    .Input("contents: string")
    .Output("image: uint8")
    .Attr("channels: int = 0")
    .Shape(DecodeShape)
    .Cpu<DecodeAny>()
    .Expensive()
    .Doc("The pixels of a BMP file.");

OP("DecodeImage")
    .Input("contents: string")
    .Output("image: dtype")
    .Attr("channels: int = 0")
    .Attr("dtype: {uint8, uint16, float} = DT_UINT8")
    .Attr("expand_animations: bool = true")
    .Shape(UnknownShape)
    .Cpu<DecodeAny>()
    .Expensive()
    .Doc("The pixels of a PNG, JPEG, GIF or BMP file.");

OP("EncodePng")
    .Input("image: T")
    .Output("contents: string")
    .Attr("compression: int = -1")
    .Attr("T: {uint8, uint16} = DT_UINT8")
    .Shape(EncodeShape)
    .Cpu<EncodePngKernel>()
    .Expensive()
    .Doc("An image as a PNG file.");

OP("EncodeJpeg")
    .Input("image: uint8")
    .Output("contents: string")
    .Attr("format: {'', 'grayscale', 'rgb'} = ''")
    .Attr("quality: int = 95")
    .Attr("progressive: bool = false")
    .Attr("optimize_size: bool = false")
    .Attr("chroma_downsampling: bool = true")
    .Attr("density_unit: {'in', 'cm'} = 'in'")
    .Attr("x_density: int = 300")
    .Attr("y_density: int = 300")
    .Attr("xmp_metadata: string = ''")
    .Shape(EncodeShape)
    .Cpu<EncodeJpegKernel>()
    .Expensive()
    .Doc("An image as a JPEG file.");

OP("EncodeJpegVariableQuality")
    .Input("images: uint8")
    .Input("quality: int32")
    .Output("contents: string")
    .Shape(EncodeShape)
    .Cpu(EncodeJpegVariableQuality)
    .Expensive()
    .HostMemory("quality")
    .Doc("An image as a JPEG file of a quality that is an input.");

OP("ExtractJpegShape")
    .Input("contents: string")
    .Output("image_shape: output_type")
    .Attr("output_type: {int32, int64} = DT_INT32")
    .Shape(JpegShapeShape)
    .Cpu(ExtractJpegShapeCpu)
    .Doc("Height, width and channels of a JPEG file.");

}  // namespace
}  // namespace millstream
