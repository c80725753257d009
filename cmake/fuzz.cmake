# SPDX-License-Identifier: MIT
# Every fuzz/fuzz_NAME.c is one libFuzzer program: cmake --preset fuzz, then build-fuzz/fuzz_NAME.

if(CORUN_FUZZ)
  file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/fuzz_*.c)
  foreach(fuzzer IN LISTS fuzzers)
    get_filename_component(name ${fuzzer} NAME_WE)
    add_executable(${name} ${fuzzer})
    target_link_libraries(${name} PRIVATE ${below} corun_split)
    if(TARGET corun_cuda)
      target_link_libraries(${name} PRIVATE corun_cuda)
    endif()
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_include_directories(${name} PRIVATE tests/rewrite) # random kernels
  endforeach()
endif()
