# SPDX-License-Identifier: MIT
# What `make install` puts in place: the command, the library as archive and shared object, headers, data, man page, pages,
# examples and pkg-config file.

set(library_objects "")
foreach(layer IN LISTS CORUN_LAYERS ITEMS references lanes_v3 lanes_v4 split)
  if(layer MATCHES "^(wire|daemon)$")
    continue() # of the command, and of what programs load
  endif()
  if(TARGET corun_${layer})
    list(APPEND library_objects $<TARGET_OBJECTS:corun_${layer}>)
  endif()
endforeach()
if(library_objects)
  add_library(corun_archive STATIC EXCLUDE_FROM_ALL ${library_objects})
  add_library(corun_shared SHARED EXCLUDE_FROM_ALL ${library_objects})
  set_target_properties(corun_archive corun_shared PROPERTIES OUTPUT_NAME corun LINKER_LANGUAGE C
                                                              ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
                                                              LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
  # Only what the public headers declare is visible.
  set_target_properties(corun_shared PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                                                LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/corun.map)
  target_link_options(corun_shared PRIVATE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/corun.map)
  if(NOT CORUN_SANITIZE) # clang has the sanitizers' runtime in programs alone
    target_link_options(corun_shared PRIVATE -Wl,--no-undefined)
  endif()
  target_link_libraries(corun_shared PRIVATE PkgConfig::JANSSON PkgConfig::YAML PkgConfig::SQLITE PkgConfig::MD PkgConfig::GMP PkgConfig::ZSTD PkgConfig::ZLIB
                                             PkgConfig::LZMA ${CORUN_ENCODER} ${CMAKE_DL_LIBS} m Threads::Threads)
  add_custom_target(corun_libraries DEPENDS corun_archive corun_shared corun_split_shared)
  if(TARGET corun_cuda_libraries)
    add_dependencies(corun_libraries corun_cuda_libraries)
  endif()
  install(TARGETS corun_archive ARCHIVE DESTINATION lib)
  install(TARGETS corun_shared LIBRARY DESTINATION lib)
endif()

if(TARGET corun)
  install(TARGETS corun RUNTIME DESTINATION bin)
  install(FILES ${CMAKE_BINARY_DIR}/corund DESTINATION bin)
  # The command makes what completes its command line; each shell looks in a folder of its own (`corun completion --help`).
  set(completion_places bash bash-completion/completions/corun zsh zsh/site-functions/_corun fish fish/vendor_completions.d/corun.fish)
  while(completion_places)
    list(POP_FRONT completion_places shell place)
    get_filename_component(folder ${place} DIRECTORY)
    add_custom_command(
      TARGET corun
      POST_BUILD
      COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/completions/${folder}
      COMMAND sh -c "\"$0\" completion ${shell} >\"$1\"" $<TARGET_FILE:corun> ${CMAKE_BINARY_DIR}/completions/${place}
      VERBATIM)
    install(FILES ${CMAKE_BINARY_DIR}/completions/${place} DESTINATION share/${folder})
  endwhile()
endif()
install(DIRECTORY include/corun DESTINATION include FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
install(FILES ${gpu_files} DESTINATION share/corun/gpu)
install(DIRECTORY configs/host DESTINATION share/corun FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY experiments DESTINATION share/corun FILES_MATCHING PATTERN "*.yaml")
install(DIRECTORY python DESTINATION share/corun FILES_MATCHING PATTERN "*.py" PATTERN "*.ipynb" PATTERN py.typed PATTERN pyproject.toml
        PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE PATTERN "*.egg-info" EXCLUDE)
install(DIRECTORY docs DESTINATION share/doc/corun FILES_MATCHING PATTERN "*.md" PATTERN "*.png")
install(DIRECTORY examples DESTINATION share/doc/corun FILES_MATCHING PATTERN "*.c" PATTERN "*.h" PATTERN "*.cu" PATTERN "*.cuh"
        PATTERN "*.ptx" PATTERN "*.yaml" PATTERN "*.md" PATTERN "*.sh" PATTERN "corund.*" PATTERN "grafana.json")
install(FILES kernels/include/device.h DESTINATION share/doc/corun/examples/split)
install(FILES docs/corun.1 DESTINATION share/man/man1)
configure_file(cmake/corun.pc.in ${CMAKE_BINARY_DIR}/corun.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/corun.pc DESTINATION lib/pkgconfig)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION share/doc/corun)
