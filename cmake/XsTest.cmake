# SPDX-License-Identifier: Apache-2.0
# How scripts/test.sh runs tests. Each function comes after the tests' set_tests_properties(... LABELS ...).

# Does not depend on what compiled our objects (other people's programs on top of them, the tree's text, models of the
# code): label `once`, left out of the section clang.
function(xs_once)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS once)
endfunction()

# Judged by the clock of a machine that may have something else to do: nothing else runs beside it, and where it fails
# scripts/test.sh lets it judge once more and says so (label `clock`, left out of the section clang). Label `alone`: the
# run of everything begins it when no build goes on beside it. Not for what is judged by results.
function(xs_by_clock)
  set_property(TEST ${ARGN} PROPERTY RUN_SERIAL TRUE)
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS clock alone)
endfunction()

# Judged by the clock (after xs_by_clock), and waits for more than half of its time: two such run side by side at the end.
function(xs_waits)
  set_tests_properties(${ARGN} PROPERTIES RUN_SERIAL FALSE PROCESSORS 2)
endfunction()

# Computes on a whole core or more: takes the place of two tests that mostly wait.
function(xs_computes)
  set_property(TEST ${ARGN} PROPERTY PROCESSORS 2)
endfunction()

# Takes long (about SECONDS) whatever else runs: begins first.
function(xs_long seconds)
  set_property(TEST ${ARGN} PROPERTY COST ${seconds})
endfunction()
