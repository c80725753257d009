# SPDX-License-Identifier: MIT
# The library that programs link to talk with the agent of `corun host run` (docs/host-linux.md). It needs nothing of the rest.

file(GLOB service_sources CONFIGURE_DEPENDS src/service/*.c)
add_library(corun_service STATIC ${service_sources})
set_target_properties(corun_service PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_include_directories(corun_service PUBLIC include src)
target_link_libraries(corun_service PUBLIC ${links_of_service} Threads::Threads)
set(up_to_service corun_service)
install(TARGETS corun_service ARCHIVE DESTINATION lib)
