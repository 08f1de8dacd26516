# SPDX-License-Identifier: Apache-2.0
# The rows of src/base/platforms.def, of the platforms that the tree has code for:
#   XS_PLATFORMS               cuda;hip;...     stems, sorted
#   XS_PLATFORM_WORDS          cuda hip ...     for completions
#   XS_PLATFORM_NAME_<stem>    CUDA
#   XS_PLATFORM_SONAMES_<stem> libcuda.so.1;libcuda.so
function(xs_read_platforms file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} rows REGEX "^XS_PLATFORM\\(")
  set(stems "")
  foreach(row IN LISTS rows)
    string(REGEX MATCHALL "\"[^\"]*\"|[A-Za-z0-9_]+" cells "${row}") # the macro, number, name, stem, prefix, api, ...
    foreach(column name:2 stem:3 api:5 sonames:9)
      string(REGEX MATCH "(.*):(.*)" column ${column})
      list(GET cells ${CMAKE_MATCH_2} cell)
      string(REPLACE "\"" "" ${CMAKE_MATCH_1} "${cell}")
    endforeach()
    if(api)
      list(APPEND stems ${stem})
      set(XS_PLATFORM_NAME_${stem} ${name} PARENT_SCOPE)
      string(REPLACE " " ";" sonames "${sonames}")
      set(XS_PLATFORM_SONAMES_${stem} ${sonames} PARENT_SCOPE)
    endif()
  endforeach()
  list(SORT stems)
  list(JOIN stems " " words)
  set(XS_PLATFORMS ${stems} PARENT_SCOPE)
  set(XS_PLATFORM_WORDS ${words} PARENT_SCOPE)
endfunction()
xs_read_platforms(${CMAKE_CURRENT_LIST_DIR}/../src/base/platforms.def)
