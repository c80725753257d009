# SPDX-License-Identifier: MIT
# Writes OUTPUT: a C file (src/LAYER/fingerprint.h declares it) with FUNCTION, which returns one hash over the contents of FILES (a list joined with |), for the keys of
# cached results.
string(REPLACE "|" ";" files "${FILES}")
set(hashes "")
foreach(file IN LISTS files)
  file(SHA256 ${file} hash)
  get_filename_component(name ${file} NAME)
  string(APPEND hashes "${name} ${hash}\n")
endforeach()
string(SHA256 fingerprint "${hashes}")
file(WRITE ${OUTPUT}.new "/* Made by the build. */
#include \"${LAYER}/fingerprint.h\"

const char *${FUNCTION}(void)
{
    return \"${fingerprint}\";
}
")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
