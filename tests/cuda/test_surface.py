# SPDX-License-Identifier: Apache-2.0
"""scripts/surface.py, on headers that are made from our own tables and then changed; and on the vendor's headers where they
are installed: test_surface.py [FOLDER...]"""
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")
sys.path.insert(0, SCRIPTS)
import surface  # noqa: E402

INSTALLED = []


def run(*folders):
    done = subprocess.run([sys.executable, "-B", os.path.join(SCRIPTS, "surface.py"), *folders], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()


def cuda_h(table):
    """Declarations and versions of every row."""
    lines, types = ["/* a comment (", " * of two lines */", "#define CUDA_VERSION 99010"], []
    for row in table.values():
        base, _, suffix = row.symbol.rpartition("_")
        if suffix in ("ptsz", "ptds"):
            lines.append(f"    #define {base} __CUDA_API_{suffix.upper()}({base})")
        else:
            lines.append(f"CUresult CUDAAPI {row.symbol}({row.params or 'void'});")
        if row.version:
            types.append(f"typedef CUresult (CUDAAPI *PFN_{row.name}_v{row.version}"
                         f"{'_ptsz' if row.streams == 'PTDS' else ''})(int x);")
    return "\n".join(lines) + "\n", "\n".join(types) + "\n"


class Surface(unittest.TestCase):
    def setUp(self):
        self.top = tempfile.TemporaryDirectory()
        self.addCleanup(self.top.cleanup)
        self.cuda_h, self.types = cuda_h(surface.table("cuda"))

    def cuda(self, cuda_h=None, types=None):
        for name, text in (("cuda.h", cuda_h or self.cuda_h), ("cudaTypedefs.h", types or self.types)):
            with open(os.path.join(self.top.name, name), "w", encoding="utf-8") as f:
                f.write(text)
        return run(self.top.name)

    def test_nothing_missing(self):
        status, out, err = self.cuda()
        self.assertEqual((status, len(out), err), (0, 1, []), out)
        self.assertRegex(out[0], r"^CUDA 99\.1: \d{3} functions, \d{3} versions, 0 missing$")

    def test_what_is_missing_is_named(self):
        more = "CUresult CUDAAPI cuAnew(int a, CUstream s);\n#define cuAnew __CUDA_API_PTSZ(cuAnew)\n" \
               "CUresult CUDAAPI cuMoreAsync(int a);\nCUresult\n    CUDAAPI cuPlain( void (*fn)(int x) );\n"
        types = "typedef CUresult (CUDAAPI *PFN_cuLaunchKernel_v99010_ptsz)(int a);\n"
        status, out, _ = self.cuda(self.cuda_h + more, self.types + types)
        self.assertEqual(status, 1)
        self.assertEqual(out[:-1], ["no row: cuAnew (takes a stream)", "no row: cuAnew_ptsz (takes a stream)",
                                    "no row: cuMoreAsync (may submit, wait, free or map)", "no row: cuPlain (passes)",
                                    "no version: cuLaunchKernel of 99010 _ptsz"])
        self.assertTrue(out[-1].endswith(", 5 missing"))

    def test_prototypes(self):
        before = "CUresult CUDAAPI cuEventRecord(CUevent hEvent, CUstream hStream);"
        self.assertIn(before, self.cuda_h)
        for now, says in (("(CUevent hEvent, CUstream hStream, int more)", "2 parameters, the header has 3"),
                          ("(CUstream hStream, CUevent hEvent)", "its stream is hStream, the header's is CUstream hStream")):
            status, out, _ = self.cuda(self.cuda_h.replace(before, f"CUresult CUDAAPI cuEventRecord{now};"))
            self.assertEqual((status, out[0]), (1, f"differs: cuEventRecord: {says}"))
            self.assertIn("differs: cuEventRecord_ptsz: ", out[1])

    def test_a_stream_that_passes(self):
        before = "CUresult CUDAAPI cuInit(void);"
        status, out, _ = self.cuda(self.cuda_h.replace(before, "CUresult CUDAAPI cuInit(CUstream s);"))
        self.assertEqual((status, out[:-1]), (1, ["no reason: cuInit passes through"]))

    def test_no_headers(self):
        """One line each, and 2."""
        half = self.cuda_h[:self.cuda_h.index("cuEventRecord(") + 20]
        for cuda_h, types in ((" ", None), (half, None), (None, " "), ("\0\1\2 (" * 999, None), (self.cuda_h + "/* ", None),
                              ("#ifndef CUDA_H\n" + self.cuda_h, None),
                              (self.cuda_h.replace("CUDA_VERSION", "CUDA_VERSIE"), None), ("<html>" * 999, None)):
            status, out, err = self.cuda(cuda_h, types)
            self.assertEqual((status, out, len(err)), (2, [], 1), err)
            self.assertIn(self.top.name, err[0])
        with tempfile.TemporaryDirectory() as empty:
            for folder in (empty, os.path.join(empty, "none"), __file__):
                status, out, err = run(folder)
                self.assertEqual((status, out, len(err)), (2, [], 1), err)
        status, out, err = run(self.top.name, "/nonexistent")
        self.assertEqual((status, len(err)), (2, 2))
        self.assertEqual(run()[0], 2)

    def hip(self, more="", changed=("", ""), version="#define HIP_VERSION_MAJOR 9\n#define HIP_VERSION_MINOR 1\n"):
        os.makedirs(os.path.join(self.top.name, "hip"), exist_ok=True)
        with open(os.path.join(self.top.name, "hip", "hip_version.h"), "w", encoding="utf-8") as f:
            f.write(version)
        every = "".join(f"hipError_t {r.symbol}({r.params or 'void'});\n" for r in surface.table("hip").values()
                        if r.symbol.startswith("hip"))
        self.assertIn(changed[0], every)
        with open(os.path.join(self.top.name, "hip", "hip_runtime_api.h"), "w", encoding="utf-8") as f:
            f.write(every.replace(*changed) + more)
        return run(self.top.name)

    def test_hip(self):
        status, out, _ = self.hip("hipError_t hipAnew(int a, hipStream_t s);\n#define hipMalloc __HIP_API_SPT(hipMalloc)\n"
                                  "template <class T> static inline hipError_t hipInline(T t) { return hipAnew(t, 0); }\n")
        self.assertEqual((status, out[:-1]), (1, ["no row: hipAnew (takes a stream)", "no row: hipMalloc_spt (passes)"]))
        self.assertRegex(out[-1], r"^HIP 9\.1: \d{3} functions, 2 missing$")

    def test_hip_prototypes(self):
        before = "hipEventRecord(hipEvent_t event, hipStream_t stream);"
        for n, (now, says) in enumerate((
                ("(hipEvent_t event, hipStream_t stream, int more)", "2 parameters, the header has 3"),
                ("(hipStream_t stream __dparm(0), hipEvent_t event)", "its stream is stream, the header's is hipStream_t stream"),
                ("(hipEvent_t event, hipStream_t stream __dparm(0))", None))):
            with self.subTest(n):
                status, out, _ = self.hip(changed=(before, f"hipEventRecord{now};"))
                self.assertEqual((status, out[:-1]), (1, [f"differs: hipEventRecord: {says}"]) if says else (0, []))

    def test_hip_stream_that_passes(self):
        before = "hipError_t hipGetDevice(void);"
        status, out, _ = self.hip(changed=(before, "hipError_t hipGetDevice(hipStream_t s);"))
        self.assertEqual((status, out[:-1]), (1, ["no reason: hipGetDevice passes through"]))

    def test_hip_without_version(self):
        status, out, err = self.hip(version="")
        self.assertEqual((status, out, len(err)), (2, [], 1))

    def test_installed(self):
        for folder in INSTALLED:
            status, out, err = run(folder)
            self.assertEqual((status, err), (0, []), out)
            print(out[-1])


if __name__ == "__main__":
    INSTALLED = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
