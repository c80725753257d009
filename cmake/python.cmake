# SPDX-License-Identifier: MIT
# The python that runs scripts and tests, CORUN_PYTHON: the program itself, where what lies in PATH is a script that looks for one each time.
find_program(CORUN_PYTHON_IN_PATH NAMES python3 DOC "the first python3 in PATH")
set(python "")
if(CORUN_PYTHON_IN_PATH AND NOT CORUN_PYTHON)
  execute_process(COMMAND ${CORUN_PYTHON_IN_PATH} -c "import sys; print(sys.executable or '')" OUTPUT_VARIABLE python OUTPUT_STRIP_TRAILING_WHITESPACE
                  ERROR_QUIET)
  if(NOT EXISTS "${python}")
    set(python ${CORUN_PYTHON_IN_PATH})
  endif()
  set(CORUN_PYTHON ${python} CACHE FILEPATH "python that runs the checks in scripts/" FORCE)
endif()
