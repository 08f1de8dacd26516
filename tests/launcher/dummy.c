/* SPDX-License-Identifier: Apache-2.0 */
int xsched_test_dummy;
