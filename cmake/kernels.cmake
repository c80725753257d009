# SPDX-License-Identifier: MIT
# The workload suite: every folder kernels/NAME with NAME.yaml becomes one workload, NAME.cu is compiled to PTX, and reference.c,
# if there is one, is compiled into the library of references. Adding a workload is adding a folder.
#
# CUDA C is compiled with clang alone, no NVIDIA toolkit: kernels/include/device.h stands for what its headers bring, and the
# math library is libclc's. The architecture is sm_52, a GTX 980: what the device of most experiments would be given, and free
# of later instructions, so that every configured GPU may run it. A description that says `architecture: sm_80` gets its own, and sm_90 is sm_90a. -O3 and fused multiply-add are what nvcc does by default; fused
# within expressions only (on): across them (fast) it also reaches into libclc and ruins its range reductions (sin: 2000 ulp).

find_program(CORUN_CLANG NAMES clang-14 clang DOC "clang that compiles CUDA C to PTX")
find_file(CORUN_LIBCLC nvptx64--nvidiacl.bc PATHS /usr/lib/clc /usr/share/clc PATH_SUFFIXES clc
          DOC "math library of libclc for NVIDIA GPUs")
if(NOT CORUN_CLANG OR NOT CORUN_LIBCLC)
  message(FATAL_ERROR "the kernels need clang with its CUDA front end and libclc (packages clang-14, libclc-14)")
endif()
set(CORUN_PTX_ARCHITECTURE sm_52 CACHE STRING "architecture that the kernels are compiled for")
set(CORUN_WORKLOADS "" CACHE STRING "folders of kernels/ to build, separated by semicolons; empty: all")

# Headers that several kernels share (NAME.cuh) and that several references share (NAME.h).
file(GLOB CORUN_DEVICE_HEADERS CONFIGURE_DEPENDS kernels/include/*.cuh kernels/include/*.h)

# The version feature is the lowest that knows the instructions with .sync, or the architecture; the linker warning is about libclc's other triple.
set(CORUN_PTX_FLAGS
    -x cuda --cuda-device-only -nocudainc -nocudalib --cuda-path=/nonexistent -S -O3 -std=c++14 -ffp-contract=on
    -fdeclspec -Wall -Wextra -Werror
    -Wno-unused-function -Wno-linker-warnings -include ${CMAKE_SOURCE_DIR}/kernels/include/device.h
    -I${CMAKE_SOURCE_DIR}/kernels/include
    -Xclang -mlink-builtin-bitcode -Xclang ${CORUN_LIBCLC})

# The architecture that a description asks for: `sm_80`; empty if it does not.
function(corun_find_architecture description result)
  file(STRINGS ${description} line REGEX "^architecture: sm_[0-9]+$")
  string(REPLACE "architecture: " "" line "${line}")
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${description})
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Compiles SOURCE (CUDA C) to the file PTX; more arguments are headers of its own, and ARCHITECTURE sm_NN in place of the suite's.
function(corun_add_ptx ptx source)
  cmake_parse_arguments(PARSE_ARGV 2 argument "" "ARCHITECTURE" "")
  set(architecture ${CORUN_PTX_ARCHITECTURE})
  if(argument_ARCHITECTURE)
    set(architecture ${argument_ARCHITECTURE})
  endif()
  set(version +ptx63)
  if(architecture MATCHES "sm_([89][0-9])")
    set(version +ptx70)
  endif()
  # clang 14 knows no sm_90: what needs it is inline assembly, and the text says what it is for.
  set(rename "")
  if(architecture STREQUAL sm_90)
    set(architecture sm_86)
    set(version +ptx71)
    set(rename COMMAND sed -i -e "s/^[.]target sm_86/.target sm_90a/" -e "s/^[.]version 7[.]1/.version 8.0/" ${ptx})
  endif()
  get_filename_component(folder ${ptx} DIRECTORY)
  add_custom_command(
    OUTPUT ${ptx}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${folder}
    COMMAND ${CORUN_CLANG} ${CORUN_PTX_FLAGS} --cuda-gpu-arch=${architecture} -Xclang -target-feature -Xclang ${version} -o ${ptx} ${source}
    ${rename}
    DEPENDS ${source} ${argument_UNPARSED_ARGUMENTS} ${CORUN_DEVICE_HEADERS} ${CORUN_LIBCLC}
    COMMENT "PTX ${ptx}"
    VERBATIM)
endfunction()

set(CORUN_DATA_DIRECTORY ${CMAKE_BINARY_DIR}/data)
file(GLOB descriptions CONFIGURE_DEPENDS kernels/*/*.yaml)
file(GLOB references CONFIGURE_DEPENDS kernels/*/reference.c)
if(CORUN_WORKLOADS)
  list(JOIN CORUN_WORKLOADS "|" wanted)
  list(FILTER descriptions INCLUDE REGEX "/kernels/(${wanted})/")
  list(FILTER references INCLUDE REGEX "/kernels/(${wanted})/")
endif()
set(outputs "")
set(CORUN_WORKLOAD_NAMES "")
foreach(description IN LISTS descriptions)
  get_filename_component(folder ${description} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  list(APPEND CORUN_WORKLOAD_NAMES ${name})
  set(target_folder ${CORUN_DATA_DIRECTORY}/kernels/${name})
  corun_find_architecture(${description} architecture)
  corun_add_ptx(${target_folder}/${name}.ptx ${folder}/${name}.cu ARCHITECTURE ${architecture})
  add_custom_command(
    OUTPUT ${target_folder}/${name}.yaml
    COMMAND ${CMAKE_COMMAND} -E make_directory ${target_folder}
    COMMAND ${CMAKE_COMMAND} -E copy ${description} ${target_folder}/${name}.yaml
    DEPENDS ${description}
    COMMENT ""
    VERBATIM)
  list(APPEND outputs ${target_folder}/${name}.ptx ${target_folder}/${name}.yaml)
  install(FILES ${target_folder}/${name}.ptx ${target_folder}/${name}.yaml DESTINATION share/corun/kernels/${name})
endforeach()
# What an earlier build made of a folder that is no more would still be listed, and fail.
file(GLOB made ${CORUN_DATA_DIRECTORY}/kernels/* ${CMAKE_BINARY_DIR}/data-nvcc/kernels/*)
foreach(folder IN LISTS made)
  get_filename_component(name ${folder} NAME)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/kernels/${name}/${name}.yaml)
    file(REMOVE_RECURSE ${folder})
  endif()
endforeach()
# For the test of the math functions, which looks next to itself.
corun_add_ptx(${CMAKE_BINARY_DIR}/tests/math.ptx ${CMAKE_SOURCE_DIR}/tests/workload/math.cu)
configure_file(tests/workload/math.yaml ${CMAKE_BINARY_DIR}/tests/math.yaml COPYONLY)
add_custom_target(corun_kernels ALL DEPENDS ${outputs} ${CMAKE_BINARY_DIR}/tests/math.ptx)

# Where a toolkit of NVIDIA is found, its compiler makes the kernels a second time, to data-nvcc/: tests run these, too, and assemble
# ours for the GPUs that a driver would. Nothing else needs it, and nothing of it is built unless those tests run.
find_program(CORUN_NVCC nvcc PATHS /usr/local/cuda/bin DOC "CUDA compiler that the kernels are compared with (optional)")
find_program(CORUN_PTXAS ptxas PATHS /usr/local/cuda/bin DOC "PTX assembler that the kernels are given to (optional)")
if(CORUN_NVCC)
  execute_process(COMMAND ${CORUN_NVCC} --list-gpu-arch OUTPUT_VARIABLE nvcc_architectures ERROR_QUIET)
  if(nvcc_architectures MATCHES "compute_([0-9]+)") # the lowest comes first
    set(nvcc_lowest ${CMAKE_MATCH_1})
    set(nvcc_outputs "")
    foreach(name IN LISTS CORUN_WORKLOAD_NAMES)
      set(target_folder ${CMAKE_BINARY_DIR}/data-nvcc/kernels/${name})
      corun_find_architecture(${CMAKE_SOURCE_DIR}/kernels/${name}/${name}.yaml architecture)
      string(REPLACE "sm_" "" architecture "${architecture}")
      if(architecture EQUAL 90)
        set(architecture 90a)
      elseif(NOT architecture OR architecture LESS nvcc_lowest)
        set(architecture ${nvcc_lowest})
      endif()
      add_custom_command(
        OUTPUT ${target_folder}/${name}.ptx
        COMMAND ${CMAKE_COMMAND} -E make_directory ${target_folder}
        COMMAND ${CORUN_NVCC} -ptx -O3 -arch=compute_${architecture} -I${CMAKE_SOURCE_DIR}/kernels/include -o
                ${target_folder}/${name}.ptx ${CMAKE_SOURCE_DIR}/kernels/${name}/${name}.cu
        DEPENDS kernels/${name}/${name}.cu ${CORUN_DEVICE_HEADERS}
        COMMENT "nvcc ${name}.ptx"
        VERBATIM)
      add_custom_command(
        OUTPUT ${target_folder}/${name}.yaml
        COMMAND ${CMAKE_COMMAND} -E make_directory ${target_folder}
        COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/kernels/${name}/${name}.yaml ${target_folder}/${name}.yaml
        DEPENDS kernels/${name}/${name}.yaml
        COMMENT ""
        VERBATIM)
      list(APPEND nvcc_outputs ${target_folder}/${name}.ptx ${target_folder}/${name}.yaml)
    endforeach()
    add_custom_target(corun_kernels_nvcc DEPENDS ${nvcc_outputs})
  endif()
endif()

set(declarations "")
set(entries "")
foreach(reference IN LISTS references)
  get_filename_component(folder ${reference} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  string(REGEX REPLACE "[^A-Za-z0-9]" "_" symbol ${name})
  string(APPEND declarations "extern const struct corun_reference corun_reference_${symbol};\n")
  string(APPEND entries "    &corun_reference_${symbol},\n")
endforeach()
set(registry ${CMAKE_BINARY_DIR}/generated/references.c)
file(CONFIGURE OUTPUT ${registry} @ONLY CONTENT "/* Made by cmake/kernels.cmake from the folders in kernels/. */
#include \"workload/references.h\"

@declarations@
const struct corun_reference *const corun_references[] = {
@entries@    NULL,
};
")
file(GLOB reference_headers CONFIGURE_DEPENDS kernels/include/*.h)
list(JOIN references "|" reference_list)
list(JOIN reference_headers "|" header_list)
set(fingerprints ${CMAKE_BINARY_DIR}/generated/reference_fingerprints.c)
add_custom_command(
  OUTPUT ${fingerprints}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${fingerprints} "-DREFERENCES=${reference_list}" "-DHEADERS=${header_list}"
          -DSHARED=${CMAKE_SOURCE_DIR}/src/workload/initial_data.c -P
          ${CMAKE_SOURCE_DIR}/cmake/reference_fingerprints.cmake
  DEPENDS ${references} ${reference_headers} src/workload/initial_data.c cmake/reference_fingerprints.cmake
  COMMENT ""
  VERBATIM)
if(TARGET corun_workload)
  add_library(corun_references STATIC ${registry} ${fingerprints} ${references})
  target_include_directories(corun_references PRIVATE include src kernels/include)
  target_link_libraries(corun_references PRIVATE PkgConfig::GMP m)
  target_link_libraries(corun_workload PUBLIC corun_references)
  add_dependencies(corun_workload corun_kernels)
endif()

# Every workload in every size against its reference; what passed once is not run again (scripts/check_full.py).
include(cmake/python.cmake)
if(EXISTS ${CMAKE_SOURCE_DIR}/tests/workload/test_workloads.c AND CORUN_PYTHON)
  add_custom_target(check-full COMMAND ${CORUN_PYTHON} ${CMAKE_SOURCE_DIR}/scripts/check_full.py
                                       $<TARGET_FILE:workload_test_workloads> ${CMAKE_BINARY_DIR}/check-full
                    DEPENDS workload_test_workloads corun_kernels USES_TERMINAL)
endif()
