# SPDX-License-Identifier: MIT
# The shim above NVIDIA's driver (docs/daemon.md): a libcuda.so.1 in a folder of its own, which `corun share` puts in front.

if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  return()
endif()
file(GLOB shim_sources CONFIGURE_DEPENDS src/shim/*.c)
set(CORUN_SHIM_DIRECTORY ${CMAKE_BINARY_DIR}/shim)
add_library(corun_shim SHARED ${shim_sources})
target_include_directories(corun_shim PRIVATE include src)
target_compile_options(corun_shim PRIVATE -fvisibility=hidden)
target_link_options(corun_shim PRIVATE -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,--exclude-libs,ALL)
if(NOT CORUN_SANITIZE) # else the program brings what is not defined
  target_link_options(corun_shim PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(corun_shim PRIVATE corun_cuda ${links_of_shim} Threads::Threads ${CMAKE_DL_LIBS})
# Named as programs ask for it.
set_target_properties(corun_shim PROPERTIES PREFIX "" SUFFIX "" OUTPUT_NAME libcuda.so.1 NO_SONAME TRUE LINKER_LANGUAGE C
                                            LIBRARY_OUTPUT_DIRECTORY ${CORUN_SHIM_DIRECTORY})
set_source_files_properties(src/shim/entries.c PROPERTIES OBJECT_DEPENDS ${CMAKE_SOURCE_DIR}/src/cuda/entry_points.def)
install(TARGETS corun_shim LIBRARY DESTINATION lib/corun/shim)
