# Writes OUTPUT: a C file (src/workload/references.h declares it) with, for each of REFERENCES (kernels/NAME/reference.c, joined
# with |), a hash over it and over SHARED, the files that it may include and those that make data from descriptions.
# Cached results depend on it: a generator that changed makes other data.
string(REPLACE "|" ";" references "${REFERENCES}")
string(REPLACE "|" ";" shared "${SHARED}")
set(common "")
foreach(file IN LISTS shared)
  file(SHA256 ${file} hash)
  get_filename_component(name ${file} NAME)
  string(APPEND common "${name} ${hash}\n")
endforeach()
set(rows "")
foreach(file IN LISTS references)
  file(SHA256 ${file} hash)
  get_filename_component(folder ${file} DIRECTORY)
  get_filename_component(name ${folder} NAME)
  string(SHA256 fingerprint "${common}${hash}")
  string(APPEND rows "    {\"${name}\", \"${fingerprint}\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "/* Made by the build. */
#include \"workload/references.h\"

const struct reference_fingerprint reference_fingerprints[] = {
${rows}    {NULL, NULL},
};
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
