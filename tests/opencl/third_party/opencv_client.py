#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Filters an image with OpenCV over OpenCL and prints digests of the results."""
import hashlib

import cv2
import numpy

cv2.ocl.setUseOpenCL(True)
assert cv2.ocl.haveOpenCL() and cv2.ocl.useOpenCL()
image = cv2.UMat(numpy.random.RandomState(1).randint(0, 255, (480, 640, 3)).astype(numpy.uint8))
for _ in range(5):
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)
    soft = cv2.GaussianBlur(grey, (7, 7), 1.5)
    edges = cv2.Canny(soft, 50, 120)
    small = cv2.resize(soft, (320, 240))
    black = cv2.threshold(small, 100, 255, 0)[1]
for result in (grey, soft, edges, small, black):
    print(hashlib.sha256(result.get().tobytes()).hexdigest(), cv2.sumElems(result)[0])
