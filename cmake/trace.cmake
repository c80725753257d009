# SPDX-License-Identifier: MIT
# The library that a program is linked with to be traced (docs/host-applications.md). Code compiled for a sanitizer calls it at loads and
# stores; it needs nothing of the rest, and is not instrumented itself.

file(GLOB trace_sources CONFIGURE_DEPENDS src/trace/*.c)
add_library(corun_trace STATIC ${trace_sources})
set_target_properties(corun_trace PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_include_directories(corun_trace PUBLIC include src)
target_link_libraries(corun_trace PUBLIC ${links_of_trace} Threads::Threads)
set(up_to_trace corun_trace)
install(TARGETS corun_trace ARCHIVE DESTINATION lib)
