# SPDX-License-Identifier: MIT
# The CUDA front door (docs/cuda.md): libcudart under the names of three CUDA versions and libcuda, thin tables of jumps into one
# library that holds the simulator. They lie in cuda/ of the build tree as they will lie in lib/corun/.

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  return()
endif()
pkg_check_modules(LZ4 REQUIRED IMPORTED_TARGET liblz4)

file(GLOB cuda_sources CONFIGURE_DEPENDS src/cuda/*.c)
list(FILTER cuda_sources EXCLUDE REGEX "/(own_heap|shim|static_runtime)\\.c$")
add_library(corun_cuda STATIC ${cuda_sources})
target_include_directories(corun_cuda PUBLIC include src)
corun_add_fingerprint(cuda cuda ${cuda_hashed})
target_link_libraries(corun_cuda PUBLIC ${links_of_cuda} PkgConfig::LZ4 PkgConfig::ZSTD PkgConfig::MD Threads::Threads)

# What a program is given must not leak names into it: everything but the entry points is hidden.
set(CORUN_CUDA_DIRECTORY ${CMAKE_BINARY_DIR}/cuda)
add_library(corun_cuda_shared SHARED $<TARGET_OBJECTS:corun_cuda>)
# A heap of its own (src/cuda/own_heap.c); sanitizers have theirs.
if(NOT CORUN_SANITIZE)
  target_sources(corun_cuda_shared PRIVATE src/cuda/own_heap.c)
  target_include_directories(corun_cuda_shared PRIVATE include src)
  foreach(name malloc calloc realloc aligned_alloc free strdup strndup)
    target_link_options(corun_cuda_shared PRIVATE -Wl,--wrap=${name})
  endforeach()
endif()
target_link_libraries(corun_cuda_shared PRIVATE ${links_of_cuda} PkgConfig::LZ4 PkgConfig::ZSTD PkgConfig::MD Threads::Threads)
set_target_properties(corun_cuda_shared PROPERTIES OUTPUT_NAME corun-cuda LINKER_LANGUAGE C
                                                   LIBRARY_OUTPUT_DIRECTORY ${CORUN_CUDA_DIRECTORY})
target_link_options(corun_cuda_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/cuda.map)
set_target_properties(corun_cuda_shared PROPERTIES LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/cuda.map)
add_dependencies(corun_cuda_shared corun_gpu_files)

# name: as programs ask for it; definition: which entry points of the table are in it
function(corun_add_cuda_library target name definition map)
  add_library(${target} SHARED src/cuda/shim.c)
  target_include_directories(${target} PRIVATE src)
  target_compile_definitions(${target} PRIVATE ${definition})
  # These are named as the toolkit names them: no prefix, and the version is part of the name.
  set_target_properties(${target} PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME ${name} NO_SONAME TRUE
                                             LIBRARY_OUTPUT_DIRECTORY ${CORUN_CUDA_DIRECTORY}
                                             BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN" OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/entry_points.def)
  set_source_files_properties(src/cuda/shim.c PROPERTIES OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/entry_points.def)
  target_link_options(${target} PRIVATE -Wl,-soname,${name} -Wl,--no-undefined ${map})
  target_link_libraries(${target} PRIVATE corun_cuda_shared)
  if(CORUN_SANITIZE)
    target_compile_options(${target} PRIVATE -fno-sanitize=all)
    target_link_options(${target} PRIVATE -fno-sanitize=all)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION lib/corun)
endfunction()

# What `corun cc` compiles with where no toolkit is.
foreach(header cuda/cuda_runtime.h cuda/cuda_runtime_api.h cuda/driver_types.h cuda/device_functions.h cuda/vector_types.h cuda/cuda_profiler_api.h
        cuda/cuda_fp16.h cuda/cuda_bf16.h cuda/half_bits.h cuda/halves.h cuda/textures.h cuda/cooperative_groups.h cuda/atomics.h cuda/cached.h
        cuda/integers.h cuda/math_functions.h cuda/roundings.h cuda/warps.h cuda/vector_functions.h cuda/device_launch_parameters.h cuda/math_constants.h
        cuda/cuComplex.h cuda/cuda.h cuda/mma.h kernels/include/device.h)
  get_filename_component(name ${header} NAME)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/data/cuda)
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/${header} ${CMAKE_BINARY_DIR}/data/cuda/${name} SYMBOLIC)
  install(FILES ${header} DESTINATION share/corun/cuda)
endforeach()
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/cuda/cooperative_groups ${CMAKE_BINARY_DIR}/data/cuda/cooperative_groups SYMBOLIC)
install(DIRECTORY cuda/cooperative_groups DESTINATION share/corun/cuda FILES_MATCHING PATTERN "*.h")

foreach(version 11.0 12 13)
  string(REGEX REPLACE "\\..*" "" major ${version})
  set(CORUN_CUDART_NAME libcudart.so.${version})
  set(map ${CMAKE_BINARY_DIR}/generated/${CORUN_CUDART_NAME}.map)
  configure_file(cmake/cudart.map.in ${map} @ONLY)
  corun_add_cuda_library(corun_cudart_${major} ${CORUN_CUDART_NAME} SHIM_CUDART=${major} -Wl,--version-script=${map})
endforeach()
corun_add_cuda_library(corun_libcuda libcuda.so.1 SHIM_CUDA=1 "")
# Python programs and the like open it by its short name.
add_custom_command(TARGET corun_libcuda POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink libcuda.so.1 ${CORUN_CUDA_DIRECTORY}/libcuda.so
                   VERBATIM)
install(FILES ${CORUN_CUDA_DIRECTORY}/libcuda.so DESTINATION lib/corun)
set_target_properties(corun_cuda_shared PROPERTIES BUILD_RPATH "$ORIGIN" INSTALL_RPATH "$ORIGIN")
install(TARGETS corun_cuda_shared LIBRARY DESTINATION lib/corun)

# The static runtime in programs and their libraries is led to these (src/cuda/static_runtime.c): loaded by the dynamic linker, without libc.
add_library(corun_static_runtime SHARED src/cuda/static_runtime.c)
target_include_directories(corun_static_runtime PRIVATE src)
target_compile_options(corun_static_runtime PRIVATE -ffreestanding -fno-builtin -fno-stack-protector -fno-sanitize=all
                                                    -fvisibility=hidden)
target_link_options(corun_static_runtime PRIVATE -nostdlib -Wl,--no-undefined -Wl,-z,noexecstack -fno-sanitize=all)
set_target_properties(corun_static_runtime PROPERTIES OUTPUT_NAME corun-static-runtime LINKER_LANGUAGE C NO_SONAME TRUE
                                                      LIBRARY_OUTPUT_DIRECTORY ${CORUN_CUDA_DIRECTORY})
set_source_files_properties(src/cuda/static_runtime.c PROPERTIES OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/entry_points.def)
install(TARGETS corun_static_runtime LIBRARY DESTINATION lib/corun)
add_custom_target(corun_cuda_libraries ALL DEPENDS corun_cuda_shared corun_cudart_11 corun_cudart_12 corun_cudart_13 corun_libcuda
                                                   corun_static_runtime)
