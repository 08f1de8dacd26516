# SPDX-License-Identifier: Apache-2.0
# LIBDIR/xsched-words: a folder for each word size, so that a child of another word size takes an empty object in place of a
# shim, silently. xsched names the shims LIBDIR/xsched-words/$PLATFORM/xsched/libshimX.so in LD_PRELOAD, and the dynamic linker
# of glibc puts there what it calls the machine: i386 to i686 for programs of 32 bits. musl's takes the name as it stands, and
# $PLATFORM is a folder, too. A shell that takes the word for a variable of its own leaves nothing of it: then the
# link xsched-words/xsched is the folder. (The objects of another word size lie nowhere else, so a plain path would make ld.so
# print a line for each of them, in each such child.)
#
# A wheel holds no links: there xsched uses plain paths. So it does on machines that this file does not name.
function(xs_word_folders)
  if(SKBUILD OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" OR NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
    return()
  endif()
  add_executable(xs_empty_object ${PROJECT_SOURCE_DIR}/cmake/empty_object.c)
  set(made "")
  get_property(shims GLOBAL PROPERTY XS_PRIVATE_LIBRARIES)
  set(folder ${PROJECT_BINARY_DIR}/lib/xsched-words)
  file(MAKE_DIRECTORY ${folder}/i686/xsched)
  foreach(shim IN LISTS shims)
    set(object ${folder}/i686/xsched/lib${shim}.so)
    add_custom_command(OUTPUT ${object} COMMAND xs_empty_object ${object} DEPENDS xs_empty_object VERBATIM)
    list(APPEND made ${object})
  endforeach()
  add_custom_target(xs_empty_objects ALL DEPENDS ${made})
  install(FILES ${made} DESTINATION ${CMAKE_INSTALL_LIBDIR}/xsched-words/i686/xsched)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/WordLinks.cmake.in ${PROJECT_BINARY_DIR}/packaging/WordLinks.cmake @ONLY)
  include(${PROJECT_BINARY_DIR}/packaging/WordLinks.cmake)
  xs_word_links(${folder})
  set(libdir "\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}")
  if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}")
    set(libdir "${CMAKE_INSTALL_LIBDIR}")
  endif()
  install(CODE "include(\"${PROJECT_BINARY_DIR}/packaging/WordLinks.cmake\")
    xs_word_links(\"\$ENV{DESTDIR}${libdir}/xsched-words\")")
endfunction()
