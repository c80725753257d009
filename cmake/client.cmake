# SPDX-License-Identifier: MIT
# The library that programs link to tell corund of themselves (docs/daemon.md). It needs nothing of the rest.

file(GLOB client_sources CONFIGURE_DEPENDS src/client/*.c)
add_library(corun_client STATIC ${client_sources})
set_target_properties(corun_client PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
target_include_directories(corun_client PUBLIC include src)
target_link_libraries(corun_client PUBLIC ${links_of_client} ${CMAKE_DL_LIBS})
set(up_to_client corun_client)
install(TARGETS corun_client ARCHIVE DESTINATION lib)
