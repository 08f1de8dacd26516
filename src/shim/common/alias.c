/* SPDX-License-Identifier: Apache-2.0 */
/* An object without functions that takes one name of the vendor's library (its SONAME) for the shim, on which it
 * depends: programs ask for libamdhip64.so.5, .6 or .7 by what they were built with, wheels for the bare name,
 * and an object can have one name only (cmake/XsShim.cmake). */
#include "hal/common/note.h"

XS_SHIM_NOTE;
