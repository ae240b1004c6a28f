# SPDX-License-Identifier: Apache-2.0
# Everything comes from the distribution by package name; tools/setup.sh installs it.
find_package(Threads REQUIRED)
find_package(absl REQUIRED CONFIG)
find_package(Protobuf REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_library(NGHTTP2_LIBRARY nghttp2 REQUIRED)
find_package(leveldb REQUIRED CONFIG)
find_package(Snappy REQUIRED CONFIG)
find_package(ZLIB REQUIRED)
find_library(RE2_LIBRARY re2 REQUIRED)
find_library(PNG_LIBRARY png REQUIRED)
find_library(JPEG_LIBRARY jpeg REQUIRED)
find_path(EIGEN_INCLUDE eigen3/Eigen/Dense REQUIRED)  # headers alone; included as <eigen3/...>
find_package(nlohmann_json REQUIRED CONFIG)
if(MILLSTREAM_TESTS OR MILLSTREAM_FUZZ)
  find_package(GTest REQUIRED CONFIG)
endif()
if(MILLSTREAM_PROGRAMS)
  find_package(CLI11 REQUIRED CONFIG)
  find_package(benchmark REQUIRED CONFIG)
endif()

# Seen in our headers, so a program that uses the library needs them too.
add_library(millstream_public_dependencies INTERFACE)
target_link_libraries(millstream_public_dependencies INTERFACE
  absl::any_invocable absl::base absl::bits absl::btree absl::cleanup absl::cord absl::core_headers
  absl::fixed_array absl::flat_hash_map absl::flat_hash_set absl::function_ref absl::hash absl::inlined_vector
  absl::int128 absl::node_hash_map absl::span absl::status absl::statusor absl::str_format absl::strings
  absl::synchronization absl::time
  protobuf::libprotobuf Threads::Threads)

# Seen in our source files alone.
add_library(millstream_private_dependencies INTERFACE)
target_link_libraries(millstream_private_dependencies INTERFACE
  OpenSSL::SSL OpenSSL::Crypto ${NGHTTP2_LIBRARY} leveldb::leveldb Snappy::snappy ZLIB::ZLIB ${RE2_LIBRARY} ${PNG_LIBRARY} ${JPEG_LIBRARY} nlohmann_json::nlohmann_json)
