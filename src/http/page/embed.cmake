# SPDX-License-Identifier: Apache-2.0
# cmake -DOUT=FILE.c -DFOLDER=DIR [-DDYGRAPHS=DIR] -P embed.cmake: the files of the status page as C arrays.
set(text "/* Made from src/http/page/ by embed.cmake. */\n#include \"http/status_page.h\"\n")
foreach(row "page.html text/html" "page.css text/css" "page.js text/javascript" "dygraph.min.js text/javascript"
    "dygraph.min.css text/css")
  separate_arguments(row)
  list(GET row 0 file)
  list(GET row 1 type)
  if(NOT file MATCHES "^dygraph")
    file(READ ${FOLDER}/${file} bytes HEX)
  elseif(DYGRAPHS)
    file(READ ${FOLDER}/dygraphs.txt license HEX)
    file(READ ${DYGRAPHS}/${file} bytes HEX)
    # without the reference to a map that is not served
    string(REGEX REPLACE "2f[2a]2320736f757263654d617070696e6755524c3d[0-9a-f]*$" "" bytes "${license}${bytes}")
  else()
    string(HEX "/* not in this build */" bytes)
  endif()
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REPLACE "." "_" name ${file})
  string(APPEND text "static const unsigned char ${name}_bytes[] = {${bytes}};\n"
    "const struct xs_page xs_${name} = {\"${type}; charset=utf-8\", ${name}_bytes, ${size}};\n")
endforeach()
file(WRITE ${OUT} "${text}")
