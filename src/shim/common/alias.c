/* SPDX-License-Identifier: Apache-2.0 */
/* An object without functions that takes one name of the vendor's library (its SONAME) for the shim, on which
 * it depends. Programs load libamdhip64.so.5, .6 or .7 by the version of their build, and wheels load the
 * bare name, but an object can have one name only (cmake/XsShim.cmake). */
#include "hal/common/note.h"

XS_SHIM_NOTE;
