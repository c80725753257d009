# SPDX-License-Identifier: MIT
# The programs of examples/split, each with its kernels beside it as PTX. A user compiles them with -march=native; here a level of the
# architecture that this machine has does, so that what a compiler cache keeps runs wherever it is found.
include(CheckCSourceRuns)
set(CORUN_EXAMPLE_FLAGS -O3 -fno-trapping-math)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  check_c_source_runs("int main(void) { return !(__builtin_cpu_supports(\"avx512vl\") && __builtin_cpu_supports(\"avx512bw\")
                       && __builtin_cpu_supports(\"avx512dq\") && __builtin_cpu_supports(\"avx512cd\")); }" CORUN_HAS_X86_64_V4)
  check_c_source_runs("int main(void) { return !(__builtin_cpu_supports(\"avx2\") && __builtin_cpu_supports(\"fma\")
                       && __builtin_cpu_supports(\"bmi2\")); }" CORUN_HAS_X86_64_V3)
  if(CORUN_HAS_X86_64_V4)
    list(APPEND CORUN_EXAMPLE_FLAGS -march=x86-64-v4)
  elseif(CORUN_HAS_X86_64_V3)
    list(APPEND CORUN_EXAMPLE_FLAGS -march=x86-64-v3)
  endif()
endif()

set(CORUN_SPLIT_EXAMPLES cg jacobi mc mm nbody nns)
set(CORUN_SPLIT_EXAMPLES_FOLDER ${CMAKE_BINARY_DIR}/examples/split)
add_library(corun_split_example_frame OBJECT examples/split/common.c)
target_include_directories(corun_split_example_frame PRIVATE include)
set(folder ${CMAKE_SOURCE_DIR}/examples/split)
foreach(name IN LISTS CORUN_SPLIT_EXAMPLES)
  corun_add_ptx(${CORUN_SPLIT_EXAMPLES_FOLDER}/${name}.ptx ${folder}/${name}.cu ${folder}/dense.cuh ${folder}/option.h)
  add_executable(split_${name} examples/split/${name}.c ${CORUN_SPLIT_EXAMPLES_FOLDER}/${name}.ptx
                 $<TARGET_OBJECTS:corun_split_example_frame>)
  set_target_properties(split_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CORUN_SPLIT_EXAMPLES_FOLDER})
  target_compile_options(split_${name} PRIVATE ${CORUN_EXAMPLE_FLAGS})
  target_link_libraries(split_${name} PRIVATE corun_split_shared m)
endforeach()

# The programs of examples/host: services and batch programs that share a multicore host (docs/host-applications.md).
set(CORUN_HOST_SERVICES crf dnn-asr fd fe gmm regex stemmer)
set(CORUN_HOST_BATCH blackscholes bodytrack canneal facesim fluidanimate raytrace streamcluster x264)
set(CORUN_HOST_EXAMPLES ${CORUN_HOST_SERVICES} ${CORUN_HOST_BATCH})
set(CORUN_HOST_EXAMPLES_FOLDER ${CMAKE_BINARY_DIR}/examples/host)
add_library(corun_host_example_frame OBJECT examples/host/program.c examples/host/serve.c examples/host/tasks.c)
target_include_directories(corun_host_example_frame PRIVATE include)
foreach(name IN LISTS CORUN_HOST_EXAMPLES)
  add_executable(host_${name} examples/host/${name}.c $<TARGET_OBJECTS:corun_host_example_frame>)
  set_target_properties(host_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${CORUN_HOST_EXAMPLES_FOLDER})
  target_link_libraries(host_${name} PRIVATE corun_service m Threads::Threads)
endforeach()

# The same programs, traced: loads and stores call corun_trace (cmake/trace.cmake), which keeps a sample of them for `corun host profile`.
# Only the program's own file is instrumented; with clang, after its optimisations, so that the loads are those of the program. Loads wider than
# sixteen bytes would call nothing: the two optimisations that make such are switched off.
set(CORUN_TRACED_FLAGS -std=c17 -O3 -D_GNU_SOURCE -ffp-contract=off -fno-math-errno -fno-slp-vectorize -fsanitize=thread -mllvm
                       -tsan-instrument-func-entry-exit=0 -mllvm -enable-interleaved-mem-accesses=false)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  list(APPEND CORUN_TRACED_FLAGS -march=x86-64-v2)
endif()
add_custom_target(host_examples)
set(CORUN_TRACED_LINK -Wl,--wrap=memcpy,--wrap=memmove,--wrap=memset)
file(GLOB host_example_headers CONFIGURE_DEPENDS examples/host/*.h)
set(traced ${CORUN_HOST_EXAMPLES})
if(CORUN_SANITIZE)
  set(traced "") # the sanitizer's library and ours would answer to the same calls
endif()
foreach(name IN LISTS traced)
  set(object ${CORUN_HOST_EXAMPLES_FOLDER}/traced/${name}.o)
  add_custom_command(
    OUTPUT ${object}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CORUN_HOST_EXAMPLES_FOLDER}/traced
    COMMAND ${CORUN_CLANG} ${CORUN_TRACED_FLAGS} -c -o ${object} ${CMAKE_SOURCE_DIR}/examples/host/${name}.c
    DEPENDS examples/host/${name}.c ${host_example_headers}
    COMMENT ""
    VERBATIM)
  add_executable(host_traced_${name} ${object} $<TARGET_OBJECTS:corun_host_example_frame>)
  set_target_properties(host_traced_${name} PROPERTIES OUTPUT_NAME ${name} LINKER_LANGUAGE C
                                                       RUNTIME_OUTPUT_DIRECTORY ${CORUN_HOST_EXAMPLES_FOLDER}/traced)
  target_link_libraries(host_traced_${name} PRIVATE corun_trace corun_service m Threads::Threads)
  target_link_options(host_traced_${name} PRIVATE ${CORUN_TRACED_LINK})
  add_dependencies(host_${name} host_traced_${name})
endforeach()
foreach(name IN LISTS CORUN_HOST_EXAMPLES)
  add_dependencies(host_examples host_${name})
endforeach()
