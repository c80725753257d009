# SPDX-License-Identifier: MIT
# Writes OUTPUT: a C file (src/workload/references.h declares it) with, for each of REFERENCES (kernels/NAME/reference.c, joined
# with |), a hash over it, over those of HEADERS that it includes, and over SHARED, the files that make data from descriptions.
# Cached results depend on it: a generator that changed makes other data.
string(REPLACE "|" ";" references "${REFERENCES}")
string(REPLACE "|" ";" headers "${HEADERS}")
string(REPLACE "|" ";" shared "${SHARED}")

# Adds to `hashes` those of a file and of the headers that it includes, each once.
function(add_hash file)
  get_filename_component(name ${file} NAME)
  if(hashes MATCHES "(^|\n)${name} ")
    return()
  endif()
  file(SHA256 ${file} hash)
  string(APPEND hashes "${name} ${hash}\n")
  file(STRINGS ${file} lines REGEX "^#include \"[^\"/]+\"")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
    foreach(header IN LISTS headers)
      get_filename_component(header_name ${header} NAME)
      if(header_name STREQUAL included)
        add_hash(${header})
      endif()
    endforeach()
  endforeach()
  set(hashes "${hashes}" PARENT_SCOPE)
endfunction()

set(rows "")
foreach(reference IN LISTS references)
  set(hashes "")
  foreach(file IN LISTS shared reference)
    add_hash(${file})
  endforeach()
  get_filename_component(folder ${reference} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  string(SHA256 fingerprint "${hashes}")
  string(APPEND rows "    {\"${name}\", \"${fingerprint}\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "/* Made by the build. */
#include \"workload/references.h\"

const struct reference_fingerprint reference_fingerprints[] = {
${rows}    {NULL, NULL},
};
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
