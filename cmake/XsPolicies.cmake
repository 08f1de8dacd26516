# SPDX-License-Identifier: Apache-2.0
# The rows of src/policy/policies.def, for what is made from them at build time: manual pages and completions name these
# variables as @XS_POLICY_...@.
#   XS_POLICY_SYMBOLS    hpf;hhpf;...            a symbol's file is src/policy/<symbol>.c
#   XS_POLICY_NAMES      HPF;HHPF;...            the symbol in capitals
#   XS_POLICY_WORDS      HPF HHPF ...
#   XS_POLICY_COMMAS     HPF, HHPF, ...
#   XS_POLICY_NUMBERED   1 HPF, 2 HHPF, ...      row n has number n
set(XS_POLICY_TABLE ${PROJECT_SOURCE_DIR}/src/policy/policies.def)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${XS_POLICY_TABLE})
file(STRINGS ${XS_POLICY_TABLE} rows REGEX "^XS_POLICY\\(")
set(XS_POLICY_SYMBOLS "")
set(XS_POLICY_NUMBERED "")
foreach(row IN LISTS rows)
  if(NOT row MATCHES "^XS_POLICY\\(kPolicy[A-Za-z]+, ([a-z0-9_]+)\\)$")
    message(FATAL_ERROR "${XS_POLICY_TABLE}: a row has an XPolicyType and a symbol: ${row}")
  endif()
  list(APPEND XS_POLICY_SYMBOLS ${CMAKE_MATCH_1})
  string(TOUPPER ${CMAKE_MATCH_1} name)
  list(LENGTH XS_POLICY_SYMBOLS number)
  list(APPEND XS_POLICY_NUMBERED "${number} ${name}")
endforeach()
string(TOUPPER "${XS_POLICY_SYMBOLS}" XS_POLICY_NAMES)
list(JOIN XS_POLICY_NAMES " " XS_POLICY_WORDS)
list(JOIN XS_POLICY_NAMES ", " XS_POLICY_COMMAS)
list(JOIN XS_POLICY_NUMBERED ", " XS_POLICY_NUMBERED)
