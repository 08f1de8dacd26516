# SPDX-License-Identifier: Apache-2.0
VERSION = "0.2.0"
