// SPDX-License-Identifier: Apache-2.0
// Shapes larger than memory, products of sizes that overflow, and files whose headers promise gigabytes.
#include <gtest/gtest.h>
#include <zlib.h>

#include <limits>

#include "millstream/runtime/testing/hostile_graph.h"

namespace millstream {
namespace {

using enum absl::StatusCode;

// With and without folding.
class HostileTensorsTest : public ::testing::TestWithParam<bool> {
 protected:
  static Status Fetch(const Scope& s, Output value) {
    SessionOptions options;
    if (!GetParam()) options.rewrite = RewriteOptions::None();
    return RunOnce(s, value ? value.name() : "none", "", options);
  }
  static Output Text(const Scope& s, const std::string& value) { return s.Const(Tensor::Scalar<std::string>(value)); }
  static Output Longs(const Scope& s, std::initializer_list<int64_t> values) {
    return s.Const(Tensor::Vector<int64_t>(values));
  }
};
INSTANTIATE_TEST_SUITE_P(Folding, HostileTensorsTest, ::testing::Bool());

constexpr int64_t kHuge = int64_t{1} << 40;
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

struct Shaped {
  const char* name;
  Output (*make)(const Scope& s, Output dims);  // of a shape that is a vector of int64
};

TEST_P(HostileTensorsTest, Shapes) {
  const Shaped ops[] = {
      {"Fill",
       [](const Scope& s, Output d) {
         return s.Op("Fill", {d, s.Const(1.f)});
       }},
      {"BroadcastTo",
       [](const Scope& s, Output d) {
         return s.Op("BroadcastTo", {s.Const(1.f), d});
       }},
      {"RandomUniform",
       [](const Scope& s, Output d) {
         return s.Op("RandomUniform", {d}, {{"dtype", DType::kFloat}});
       }},
      {"Empty",
       [](const Scope& s, Output d) {
         return s.Op("Empty", {s.Op("Cast", {d}, {{"DstT", DType::kInt32}})}, {{"dtype", DType::kFloat}});
       }},
      {"Tile",
       [](const Scope& s, Output d) {
         return s.Op("Tile", {s.Op("Reshape", {s.Const(1.f), s.Op("OnesLike", {d})}), d});
       }},
      {"SparseToDense",
       [](const Scope& s, Output d) {
         return s.Op("SparseToDense", {s.Op("ZerosLike", {d}), d, s.Const(1.f), s.Const(0.f)});
       }},
      {"ScatterNd",
       [](const Scope& s, Output d) {
         return s.Op("ScatterNd", {s.Op("ExpandDims", {s.Op("ZerosLike", {d}), s.Const<int32_t>(0)}),
                                   s.Const(Tensor::Vector<float>({1})), d});
       }},
  };
  for (const Shaped& op : ops) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{kHuge},
                                             {1 << 20, 1 << 20},
                                             {kHuge, kHuge},
                                             {kMost},
                                             {kMost, 2},
                                             {1 << 30, 1 << 30, 1 << 30},
                                             {0, kMost, kMost}}) {
      SCOPED_TRACE(op.name);
      ExpectSurvives({kResourceExhausted, kInvalidArgument, kOk}, [&op, &dims] {
        Scope s = Scope::Root();
        return Fetch(s, op.make(s, s.Const(Tensor::Vector<int64_t>(dims))));
      });
    }
  }
}

TEST_P(HostileTensorsTest, Sizes) {
  using Make = Output (*)(const Scope&);
  const Make makes[] = {
      [](const Scope& s) {
        return s.Op("Range", {s.Const<int64_t>(0), s.Const(kMost), s.Const<int64_t>(1)});
      },
      [](const Scope& s) {
        return s.Op("Range", {s.Const(0.f), s.Const(1e30f), s.Const(1e-30f)});
      },
      [](const Scope& s) {
        return s.Op("LinSpace", {s.Const(0.f), s.Const(1.f), s.Const(kHuge)});
      },
      [](const Scope& s) {
        return s.Op("OneHot", {s.Constant({1, 2}), s.Const<int32_t>(INT32_MAX), s.Const(1.f), s.Const(0.f)});
      },
      [](const Scope& s) {
        return s.Op("Pad", {s.Const(Tensor::Vector<float>({1})),
                            s.Const(Tensor::Of<int64_t>(Shape({1, 2}), {kHuge, kMost / 2}))});
      },
      [](const Scope& s) {
        return s.Op(
            "MirrorPad",
            {s.Const(Tensor::Vector<float>({1, 2})), s.Const(Tensor::Of<int64_t>(Shape({1, 2}), {kHuge, kHuge}))},
            {{"mode", "SYMMETRIC"}});
      },
      [](const Scope& s) {
        return s.Op("ResizeBilinear",
                    {s.Op("Fill", {s.Constant({1, 2, 2, 3}), s.Const(1.f)}), s.Constant({1 << 20, 1 << 20})});
      },
      [](const Scope& s) {
        return s.Op("ResizeNearestNeighbor",
                    {s.Op("Fill", {s.Constant({1, 2, 2, 3}), s.Const(1.f)}), s.Constant({INT32_MAX, INT32_MAX})});
      },
      [](const Scope& s) {
        return s.Op("CropAndResize", {s.Op("Fill", {s.Constant({1, 2, 2, 3}), s.Const(1.f)}),
                                      s.Const(Tensor::Of<float>(Shape({1, 4}), {0, 0, 1, 1})), s.Constant({0}),
                                      s.Constant({INT32_MAX, INT32_MAX})});
      },
      [](const Scope& s) {
        return s.Op("MatrixDiag", {s.Op("Fill", {s.Constant({1 << 22}), s.Const(1.f)})});
      },
      [](const Scope& s) {
        Output x = s.Op("Fill", {s.Constant({1 << 20, 1}), s.Const(1.f)});
        return s.Op("MatMul", {x, x}, {{"transpose_b", true}});
      },
      [](const Scope& s) {
        Output x = s.Op("Fill", {s.Constant({1 << 20, 1}), s.Const(1.f)});
        return s.Op("AddV2", {x, s.Op("Reshape", {x, s.Constant({1, 1 << 20})})});
      },
      [](const Scope& s) {
        return s.Op("UnsortedSegmentSum", {s.Const(Tensor::Vector<float>({1})), s.Constant({0}), s.Const(kHuge)});
      },
      [](const Scope& s) {
        return s.Op("Bincount", {s.Constant({1}), s.Const<int32_t>(INT32_MAX), s.Const(Tensor::Vector<float>({1}))});
      },
      [](const Scope& s) { return s.Op("SequenceMask", {s.Const(kHuge)}); },
      [](const Scope& s) {
        return s.Op("Multinomial", {s.Const(Tensor::Of<float>(Shape({1, 2}), {1, 1})), s.Const<int32_t>(INT32_MAX)});
      },
      [](const Scope& s) {
        return s.Op("BatchToSpaceND", {s.Op("Fill", {s.Constant({4, 1, 1, 1}), s.Const(1.f)}), Longs(s, {2, 2}),
                                       s.Const(Tensor::Of<int64_t>(Shape({2, 2}), {-kMost, 0, -kMost, 0}))});
      },
      [](const Scope& s) {
        return s.Op("SpaceToBatchND", {s.Op("Fill", {s.Constant({1, 2, 2, 1}), s.Const(1.f)}), Longs(s, {kHuge, kHuge}),
                                       s.Const(Tensor::Of<int64_t>(Shape({2, 2}), {kHuge, kHuge, kHuge, kHuge}))});
      },
      [](const Scope& s) {
        return s.Op("Conv2DBackpropInput",
                    {s.Constant({1 << 20, 1 << 10, 1 << 10, 1}), s.Op("Fill", {s.Constant({1, 1, 1, 1}), s.Const(1.f)}),
                     s.Op("Fill", {s.Constant({1, 1, 1, 1}), s.Const(1.f)})},
                    {{"strides", std::vector<int64_t>{1, 1, 1, 1}}, {"padding", "SAME"}});
      },
  };
  for (size_t i = 0; i < std::size(makes); ++i) {
    SCOPED_TRACE(i);
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kNotFound, kUnimplemented, kOutOfRange}, [&makes, i] {
      Scope s = Scope::Root();
      return Fetch(s, makes[i](s));
    });
  }
}

std::string Big(uint32_t x) {
  return {static_cast<char>(x >> 24), static_cast<char>(x >> 16), static_cast<char>(x >> 8), static_cast<char>(x)};
}
std::string Little(uint32_t x, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(x >> (8 * i));
  return out;
}

std::string Deflated(const std::string& plain, bool gzip) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, gzip ? 31 : 15, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&z, plain.size()), '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  z.avail_in = static_cast<uInt>(plain.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string PngChunk(const std::string& type, const std::string& data) {
  const std::string body = type + data;
  return Big(static_cast<uint32_t>(data.size())) + body +
         Big(static_cast<uint32_t>(
             crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()))));
}
std::string Png(uint32_t width, uint32_t height) {
  return std::string("\x89PNG\r\n\x1a\n", 8) +
         PngChunk("IHDR", Big(width) + Big(height) + std::string("\x08\x06\0\0\0", 5)) +
         PngChunk("IDAT", Deflated(std::string(1 << 20, '\0'), false)) + PngChunk("IEND", "");
}
std::string Bmp(uint32_t width, uint32_t height) {
  return "BM" + Little(100, 4) + Little(0, 4) + Little(54, 4) + Little(40, 4) + Little(width, 4) + Little(height, 4) +
         Little(1, 2) + Little(24, 2) + std::string(24 + 64, '\0');
}
std::string Gif(uint32_t width, uint32_t height) {
  std::string gif = "GIF89a" + Little(width, 2) + Little(height, 2) + std::string("\x80\0\0", 3) + std::string(6, '\0');
  for (int frame = 0; frame < 2000; ++frame) {
    gif += "," + Little(0, 4) + Little(width, 2) + Little(height, 2) + std::string(1, '\0') +
           std::string("\x02\x02\x44\x01\0", 5);
  }
  return gif + ";";
}
std::string Jpeg(uint32_t width, uint32_t height) {
  std::string jpeg("\xff\xd8", 2);
  jpeg += std::string("\xff\xdb\0\x43\0", 5) + std::string(64, '\x01');
  jpeg += std::string("\xff\xc0\0\x11\x08", 5) + Big(height).substr(2) + Big(width).substr(2) +
          std::string("\x03\x01\x11\0\x02\x11\0\x03\x11\0", 10);
  return jpeg + std::string("\xff\xda\0\x0c\x03\x01\0\x02\x11\x03\x11\0\x3f\0", 14) + std::string(1000, '\0');
}
std::string Wav(uint32_t bytes) {
  return "RIFF" + Little(bytes, 4) + "WAVEfmt " + Little(16, 4) + Little(1, 2) + Little(1, 2) + Little(44100, 4) +
         Little(88200, 4) + Little(2, 2) + Little(16, 2) + "data" + Little(bytes, 4) + std::string(100, '\0');
}

TEST_P(HostileTensorsTest, ImagesThatPromiseMuch) {
  const std::pair<const char*, std::string> files[] = {
      {"DecodePng", Png(30'000, 30'000)},   {"DecodePng", Png(0x7fffffff, 0x7fffffff)},
      {"DecodeJpeg", Jpeg(65'500, 65'500)}, {"DecodeGif", Gif(65'535, 65'535)},
      {"DecodeBmp", Bmp(1 << 30, 1 << 30)}, {"DecodeBmp", Bmp(0x80000000u, 0x80000000u)},
      {"DecodeImage", Png(30'000, 30'000)}, {"DecodeImage", Gif(65'535, 65'535)},
      {"DecodeWav", Wav(0xffffffff)},       {"DecodeWav", Wav(0x7ffffff0)},
  };
  for (const auto& [op, bytes] : files) {
    SCOPED_TRACE(op);
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kNotFound, kDataLoss}, [op = op, &bytes = bytes] {
      Scope s = Scope::Root();
      return Fetch(s, s.Op(op, {Text(s, bytes)}));
    });
  }
}

TEST_P(HostileTensorsTest, CompressedZeros) {
  for (const bool gzip : {false, true}) {
    ExpectSurvives({kResourceExhausted, kInvalidArgument, kDataLoss}, [gzip] {
      // Four gigabytes: 64 strings of 64 MB, which take 64 KB each.
      std::string packed = Deflated(std::string(64 << 20, '\0'), gzip);
      Scope s = Scope::Root();
      Output x = s.Op("Fill", {s.Constant({64}), Text(s, packed)});
      return Fetch(s, s.Op("DecodeCompressed", {x}, {{"compression_type", gzip ? "GZIP" : "ZLIB"}}));
    });
  }
}

TEST_P(HostileTensorsTest, ParsedExamples) {
  for (const Shape& shape : {Shape({1 << 20, 1 << 10}), Shape({int64_t{1} << 31, int64_t{1} << 31})}) {
    ExpectSurvives({kResourceExhausted, kInvalidArgument}, [&shape] {
      Scope s = Scope::Root();
      Node* parse =
          s.Add("ParseExample",
                {s.Op("Fill", {s.Constant({1 << 10}), Text(s, "")}), s.Const(Tensor(DType::kString, Shape({0}))),
                 s.Const(Tensor::Vector<std::string>({"x"})), s.Const(Tensor(DType::kFloat, Shape({0})))},
                {{"Nsparse", int64_t{0}},
                 {"Ndense", int64_t{1}},
                 {"sparse_types", std::vector<DType>{}},
                 {"Tdense", std::vector<DType>{DType::kFloat}},
                 {"dense_shapes", std::vector<PartialShape>{PartialShape(shape)}}});
      return Fetch(s, parse == nullptr ? Output() : Output(parse, 0));
    });
  }
}

TEST_P(HostileTensorsTest, ParsedTensors) {
  // dtype: float, shape: 2^20 x 2^20, one value that is repeated.
  const std::string proto("\x08\x01\x12\x0c\x12\x04\x08\x80\x80\x40\x12\x04\x08\x80\x80\x40\x2a\x04\0\0\x80\x3f", 22);
  ExpectSurvives({kResourceExhausted, kInvalidArgument}, [&proto] {
    Scope s = Scope::Root();
    return Fetch(s, s.Op("ParseTensor", {Text(s, proto)}, {{"out_type", DType::kFloat}}));
  });
}

}  // namespace
}  // namespace millstream
