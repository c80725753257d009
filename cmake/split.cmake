# SPDX-License-Identifier: MIT
# The library that divides a task between CPU and GPUs (docs/split.md). Programs link with it alone: it needs nothing of the simulator,
# and finds CUDA's driver when it runs.

file(GLOB split_sources CONFIGURE_DEPENDS src/split/*.c)
add_library(corun_split STATIC ${split_sources})
target_include_directories(corun_split PUBLIC include src)
target_link_libraries(corun_split PUBLIC ${links_of_split} m ${CMAKE_DL_LIBS} Threads::Threads)
set(up_to_split corun_split ${links_of_split})

add_library(corun_split_shared SHARED $<TARGET_OBJECTS:corun_split>)
set_target_properties(corun_split_shared PROPERTIES OUTPUT_NAME corun-split LINKER_LANGUAGE C VERSION ${PROJECT_VERSION}
                                                    SOVERSION ${PROJECT_VERSION_MAJOR}
                                                    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
                                                    LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/split.map)
target_include_directories(corun_split_shared PUBLIC include)
target_link_options(corun_split_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/split.map)
if(NOT CORUN_SANITIZE) # clang has the sanitizers' runtime in programs alone
  target_link_options(corun_split_shared PRIVATE -Wl,--no-undefined)
endif()
target_link_libraries(corun_split_shared PRIVATE ${links_of_split} m ${CMAKE_DL_LIBS} Threads::Threads)
install(TARGETS corun_split_shared LIBRARY DESTINATION lib)
configure_file(cmake/corun-split.pc.in ${CMAKE_BINARY_DIR}/corun-split.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/corun-split.pc DESTINATION lib/pkgconfig)
