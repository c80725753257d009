# SPDX-License-Identifier: MIT
# Every fuzz/fuzz_NAME.c is one libFuzzer program: cmake --preset fuzz, then build-fuzz/fuzz_NAME. Other builds compile them alone, so that a change
# of what they call is noticed.

file(GLOB fuzzers CONFIGURE_DEPENDS fuzz/fuzz_*.c)
# Commands that ask corund, and what of the shim speaks with corund: of these two, no library is made that others are built upon.
set(fuzz_client_with "")
foreach(part command daemon_goal daemon_link help output ps top top_picture)
  list(APPEND fuzz_client_with src/cli/${part}.c)
endforeach()
set(fuzz_shim_with src/shim/board.c src/shim/captures.c src/shim/govern.c src/shim/lanes.c src/shim/pace.c src/shim/streams.c)
set(fuzz_shim_options -Wl,--wrap=clock_gettime -Wl,--wrap=mmap)
if(CORUN_FUZZ)
  foreach(fuzzer IN LISTS fuzzers)
    get_filename_component(name ${fuzzer} NAME_WE)
    add_executable(${name} ${fuzzer} ${${name}_with})
    target_link_libraries(${name} PRIVATE ${below} corun_split)
    if(TARGET corun_cuda)
      target_link_libraries(${name} PRIVATE corun_cuda)
    endif()
    if(name STREQUAL fuzz_client)
      target_link_libraries(${name} PRIVATE PkgConfig::NCURSES)
    endif()
    target_link_options(${name} PRIVATE -fsanitize=fuzzer ${${name}_options})
    target_include_directories(${name} PRIVATE tests/rewrite) # random kernels
  endforeach()
elseif(TARGET corun_cuda)
  add_library(corun_fuzzers OBJECT ${fuzzers})
  target_link_libraries(corun_fuzzers PRIVATE ${below} corun_split corun_cuda)
  target_include_directories(corun_fuzzers PRIVATE tests/rewrite)
  # What those two are linked with has to be enough: they have no main here, and so are modules.
  if(NOT CORUN_SANITIZE)
    foreach(name fuzz_client fuzz_shim)
      add_library(corun_${name} MODULE fuzz/${name}.c ${${name}_with})
      target_link_libraries(corun_${name} PRIVATE ${below} corun_split corun_cuda PkgConfig::NCURSES)
      target_link_options(corun_${name} PRIVATE -Wl,--no-undefined ${${name}_options})
    endforeach()
  endif()
endif()
