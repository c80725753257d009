# SPDX-License-Identifier: MIT
# Every fuzz/fuzz_NAME.c is one libFuzzer program: cmake --preset fuzz, then build-fuzz/fuzz_NAME. Other builds compile them alone, so that a change
# of what they call is noticed.

file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/fuzz_*.c)
if(CORUN_FUZZ)
  foreach(fuzzer IN LISTS fuzzers)
    get_filename_component(name ${fuzzer} NAME_WE)
    add_executable(${name} ${fuzzer})
    target_link_libraries(${name} PRIVATE ${below} corun_split)
    if(TARGET corun_cuda)
      target_link_libraries(${name} PRIVATE corun_cuda)
    endif()
    if(name STREQUAL fuzz_client) # commands that ask corund
      foreach(part command daemon_goal daemon_link help output ps top top_picture)
        target_sources(${name} PRIVATE src/cli/${part}.c)
      endforeach()
      target_link_libraries(${name} PRIVATE PkgConfig::NCURSES)
    endif()
    if(name STREQUAL fuzz_shim) # what of the shim speaks with corund
      target_sources(${name} PRIVATE src/shim/govern.c src/shim/board.c src/shim/lanes.c)
      target_link_options(${name} PRIVATE -Wl,--wrap=clock_gettime -Wl,--wrap=mmap)
    endif()
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    target_include_directories(${name} PRIVATE tests/rewrite) # random kernels
  endforeach()
elseif(TARGET corun_cuda)
  add_library(corun_fuzzers OBJECT ${fuzzers})
  target_link_libraries(corun_fuzzers PRIVATE ${below} corun_split corun_cuda)
  target_include_directories(corun_fuzzers PRIVATE tests/rewrite)
endif()
