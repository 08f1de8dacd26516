# SPDX-License-Identifier: Apache-2.0
# A room of src/ that is used both by preloaded objects and by programs: compiled once for each.
#   xs_room(base SOURCES a.c b.c)  ->  object libraries xs_base (programs) and xs_base_pre (preloaded)
function(xs_room name)
  cmake_parse_arguments(A "" "" "SOURCES" ${ARGN})
  add_library(xs_${name} STATIC ${A_SOURCES})
  target_link_libraries(xs_${name} PUBLIC xs_flags)
  add_library(xs_${name}_pre STATIC ${A_SOURCES})
  target_link_libraries(xs_${name}_pre PUBLIC xs_preload_flags)
endfunction()
