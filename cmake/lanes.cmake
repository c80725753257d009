# SPDX-License-Identifier: MIT
# The lane functions (src/isa/lanes_*.c but the one that selects) are built twice on x86-64: for whatever the compiler targets, and for
# x86-64-v3 (AVX2, FMA). lanes_select.c chooses at run time. Both give the same bits.
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
check_c_compiler_flag(-march=x86-64-v3 CORUN_COMPILER_HAS_V3)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND CORUN_COMPILER_HAS_V3)
  add_library(corun_lanes_v3 OBJECT ${lane_sources})
  target_include_directories(corun_lanes_v3 PRIVATE include src)
  target_compile_options(corun_lanes_v3 PRIVATE -march=x86-64-v3)
  target_compile_definitions(corun_lanes_v3 PRIVATE LANES_SUFFIX=v3)
  target_sources(corun_isa PRIVATE $<TARGET_OBJECTS:corun_lanes_v3>)
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/isa/lanes_select.c PROPERTIES COMPILE_DEFINITIONS CORUN_LANES_V3)
endif()
