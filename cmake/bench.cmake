# `make bench`: how fast the simulator is.

if(EXISTS ${CMAKE_SOURCE_DIR}/bench/bench.c AND TARGET corun_workload)
  add_executable(corun_bench EXCLUDE_FROM_ALL bench/bench.c)
  target_link_libraries(corun_bench PRIVATE ${below})
endif()
