# SPDX-License-Identifier: Apache-2.0
from stand_in import stand_in

stand_in(__name__)
