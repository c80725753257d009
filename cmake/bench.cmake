# SPDX-License-Identifier: MIT
# Benchmarks: bench/NAME.c is the program bench_NAME; bench/workloads.c is what `make bench` runs.
file(GLOB benches CONFIGURE_DEPENDS bench/*.c)
set(bench_programs "")
foreach(source IN LISTS benches)
  get_filename_component(name ${source} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
  target_link_libraries(bench_${name} PRIVATE ${below} corun_split m)
  target_include_directories(bench_${name} PRIVATE tests/gpu)
  list(APPEND bench_programs bench_${name})
endforeach()
add_custom_target(bench_programs DEPENDS ${bench_programs})
# scripted instructions are a header of the tests and use their assertions
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
target_link_libraries(bench_timing_model PRIVATE PkgConfig::CMOCKA)
target_link_libraries(bench_come_and_go PRIVATE PkgConfig::CMOCKA)

# Those of bench/hardware are for real GPUs; here they are compiled with corun's own driver, so that they keep on compiling.
foreach(name approximations goals launches waits)
  add_executable(bench_hardware_${name} EXCLUDE_FROM_ALL bench/hardware/${name}.c)
  target_link_libraries(bench_hardware_${name} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} m)
  add_dependencies(bench_programs bench_hardware_${name})
endforeach()
foreach(name goals waits)
  add_dependencies(bench_hardware_${name} corun_cuda_libraries)
  target_link_libraries(bench_hardware_${name} PRIVATE ${CORUN_CUDA_DIRECTORY}/libcuda.so.1)
endforeach()
target_link_libraries(bench_hardware_goals PRIVATE corun_client)
target_include_directories(bench_hardware_approximations PRIVATE include src)

# A peer of corun/split.h, where Debian's package is there (libstarpu-dev); nothing else needs it.
pkg_check_modules(STARPU IMPORTED_TARGET starpu-1.3)
if(STARPU_FOUND)
  add_executable(bench_starpu EXCLUDE_FROM_ALL bench/peers/starpu.c)
  target_link_libraries(bench_starpu PRIVATE corun_split PkgConfig::STARPU)
  add_dependencies(bench_programs bench_starpu)
endif()
