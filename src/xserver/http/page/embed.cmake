# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE.c -DFOLDER=DIR -P embed.cmake: the files of the status page as C arrays.
set(text "/* Made from src/xserver/http/page/ by embed.cmake. */\n#include \"xserver/http/status_page.h\"\n")
foreach(row "page.html text/html" "page.css text/css" "page.js text/javascript")
  separate_arguments(row)
  list(GET row 0 file)
  list(GET row 1 type)
  file(READ ${FOLDER}/${file} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REPLACE "." "_" name ${file})
  string(APPEND text "static const unsigned char ${name}_bytes[] = {${bytes}};\n"
    "const struct xs_page xs_${name} = {\"${type}; charset=utf-8\", ${name}_bytes, ${size}};\n")
endforeach()
file(WRITE ${OUT} "${text}")
