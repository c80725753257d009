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
