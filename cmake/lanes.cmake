# SPDX-License-Identifier: MIT
# The lane functions (src/isa/lanes_*.c but the one that selects) are built three times on x86-64: for whatever the compiler targets, for
# x86-64-v3 (AVX2, FMA), and for x86-64-v4 (AVX-512). lanes_select.c chooses at run time. All give the same bits.
file(GLOB lane_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/isa/lanes_*.c)
list(REMOVE_ITEM lane_sources ${CMAKE_SOURCE_DIR}/src/isa/lanes_select.c)

# -fno-trapping-math: nobody looks at exception flags, so that both sides of a choice may be computed; without it gcc leaves loops
# with comparisons of floats alone. -Wno-pass-failed: not every loop can be a SIMD loop.
set(lane_options -fno-trapping-math)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
  list(APPEND lane_options -Wno-pass-failed)
else()
  # A copying loop as four vector moves, not as a string instruction that takes longer to start.
  list(APPEND lane_options -fno-tree-loop-distribute-patterns)
endif()
set_source_files_properties(${lane_sources} PROPERTIES COMPILE_OPTIONS "${lane_options}")

include(CheckCCompilerFlag)
set(lane_levels)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  check_c_compiler_flag(-march=x86-64-v3 CORUN_COMPILER_HAS_V3)
  check_c_compiler_flag("-march=x86-64-v4 -mprefer-vector-width=512" CORUN_COMPILER_HAS_V4)
  if(CORUN_COMPILER_HAS_V3)
    list(APPEND lane_levels v3)
  endif()
  if(CORUN_COMPILER_HAS_V4)
    list(APPEND lane_levels v4)
  endif()
endif()
set(lane_options_v3 -march=x86-64-v3)
set(lane_options_v4 -march=x86-64-v4 -mprefer-vector-width=512)
set(lane_definitions)
foreach(level ${lane_levels})
  add_library(corun_lanes_${level} OBJECT ${lane_sources})
  target_include_directories(corun_lanes_${level} PRIVATE include src)
  target_compile_options(corun_lanes_${level} PRIVATE ${lane_options_${level}})
  target_compile_definitions(corun_lanes_${level} PRIVATE LANES_SUFFIX=${level})
  target_sources(corun_isa PRIVATE $<TARGET_OBJECTS:corun_lanes_${level}>)
  string(TOUPPER ${level} upper)
  list(APPEND lane_definitions CORUN_LANES_${upper})
endforeach()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/isa/lanes_select.c PROPERTIES COMPILE_DEFINITIONS "${lane_definitions}")

# Machine code at run time (src/isa/native.h) does what the functions for AVX-512 do.
file(GLOB native_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/isa/native_*.c)
if("v4" IN_LIST lane_levels)
  find_package(zydis CONFIG REQUIRED)
  set(CORUN_ENCODER Zydis::Zydis)
  set(CORUN_ENCODER_FLAG -lZydis)
  target_link_libraries(corun_isa PUBLIC ${CORUN_ENCODER})
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/isa/native.c PROPERTIES COMPILE_DEFINITIONS CORUN_NATIVE)
else()
  set_source_files_properties(${native_sources} PROPERTIES HEADER_FILE_ONLY TRUE)
endif()
