# SPDX-License-Identifier: Apache-2.0
# libmillstream_cuda.so: the CUDA device, a plug-in of its own. nvcc compiles the .cu files; everything else, linking
# included, is the C++ compiler's. The main library knows nothing of it.
#
#   MILLSTREAM_CUDA                AUTO (where nvcc is found), ON or OFF
#   MILLSTREAM_CUDA_ARCHITECTURES  "90" or "80;90": machine code for these, and PTX for the last one

set(MILLSTREAM_CUDA AUTO CACHE STRING "Build the CUDA device: ON, OFF, or AUTO (if nvcc is there)")
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(default_architectures "80;90")
else()
  set(default_architectures "90")  # one is compiled in half the time
endif()
set(MILLSTREAM_CUDA_ARCHITECTURES ${default_architectures} CACHE STRING "Compute capabilities of the CUDA device's code")

if(NOT MILLSTREAM_CUDA OR NOT BUILD_SHARED_LIBS OR MILLSTREAM_SANITIZE)
  return()
endif()
find_program(NVCC nvcc HINTS /usr/local/cuda/bin)
if(NOT NVCC)
  if(NOT MILLSTREAM_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "MILLSTREAM_CUDA is ON, but there is no nvcc")
  endif()
  message(STATUS "No nvcc: the CUDA device is not built")
  return()
endif()
cmake_path(GET NVCC PARENT_PATH cuda_bin)
cmake_path(GET cuda_bin PARENT_PATH cuda_root)
foreach(library cublas cublasLt cudnn)
  find_library(CUDA_${library} ${library} HINTS ${cuda_root}/lib64 NO_CACHE)
  if(NOT CUDA_${library})
    message(STATUS "No lib${library}: the CUDA device is not built")
    return()
  endif()
endforeach()
message(STATUS "CUDA device: ${NVCC}, compute capability ${MILLSTREAM_CUDA_ARCHITECTURES}")

set(nvcc_flags -std=c++20 -O2 -lineinfo --expt-relaxed-constexpr --extended-lambda -Xcompiler=-fPIC,-O2
    -diag-suppress=2810 -I${PROJECT_SOURCE_DIR} -I${MILLSTREAM_GEN_DIR})
foreach(architecture ${MILLSTREAM_CUDA_ARCHITECTURES})
  list(APPEND nvcc_flags -gencode=arch=compute_${architecture},code=sm_${architecture})
endforeach()
list(GET MILLSTREAM_CUDA_ARCHITECTURES -1 newest)
list(APPEND nvcc_flags -gencode=arch=compute_${newest},code=compute_${newest})

# Sets `out` to the object files of the .cu files below millstream/devices/cuda: one each, or, in a build of everything,
# one for each folder, since parsing the headers takes longer than compiling the kernels.
function(millstream_cuda_objects out)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/millstream/devices/cuda/*.cu)
  if(MILLSTREAM_BATCHES)
    foreach(source ${sources})
      cmake_path(GET source PARENT_PATH folder)
      list(APPEND folders ${folder})
    endforeach()
    list(REMOVE_DUPLICATES folders)
    set(batches "")
    foreach(folder ${folders})
      cmake_path(GET folder FILENAME name)
      set(of_folder ${sources})
      list(FILTER of_folder INCLUDE REGEX "^${folder}/[^/]+$")
      set(text "")
      foreach(source ${of_folder})
        file(RELATIVE_PATH relative ${PROJECT_SOURCE_DIR} ${source})
        string(APPEND text "#include \"${relative}\"\n")
      endforeach()
      file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/cuda/batch_${name}.cu CONTENT "${text}")
      list(APPEND batches ${PROJECT_BINARY_DIR}/cuda/batch_${name}.cu)
    endforeach()
    set(sources ${batches})
  endif()
  set(launcher "")
  if(CCACHE)
    set(launcher ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${CCACHE})
  endif()
  foreach(source ${sources})
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${source})
    string(REPLACE "/" "_" name ${name})
    set(object ${PROJECT_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(
      OUTPUT ${object}
      COMMAND ${launcher} ${NVCC} ${nvcc_flags} -MD -MF ${object}.d -c ${source} -o ${object}
      DEPENDS ${source} millstream_generated
      DEPFILE ${object}.d
      COMMENT "Compiling ${name} with nvcc"
      VERBATIM)
    list(APPEND objects ${object})
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/cuda)
millstream_cuda_objects(objects)
millstream_glob(sources millstream/devices/cuda "." "${not_in_library}")
add_library(millstream_cuda MODULE ${sources} ${objects})
target_include_directories(millstream_cuda SYSTEM PRIVATE ${cuda_root}/include)
millstream_link(millstream_cuda ${CUDA_cublas} ${CUDA_cublasLt} ${CUDA_cudnn} ${cuda_root}/lib64/libcudart_static.a rt dl)
set_target_properties(millstream_cuda PROPERTIES INSTALL_RPATH "$ORIGIN")
