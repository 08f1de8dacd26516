# SPDX-License-Identifier: Apache-2.0
# xs_cuda_map(API.def OUT.map): the linker's version script from the rows. The driver's functions
# have no versions.
function(xs_cuda_map def out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${def})
  file(STRINGS ${def} rows REGEX "^CU(_PASS)?\\(")
  set(names "")
  foreach(row IN LISTS rows)
    if(NOT row MATCHES "^CU(_PASS)?\\(([A-Z_]+, )?(cu[A-Za-z0-9_]+),")
      message(FATAL_ERROR "${def}: not a row: ${row}")
    endif()
    string(APPEND names "    ${CMAKE_MATCH_3};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT "{\n  global:\n    ioctl;\n${names}  local:\n    *;\n};\n" @ONLY)
endfunction()
