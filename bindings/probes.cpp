// Parts of the core on their own, for tests and benchmarks, and what this machine can run.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "arrays.hpp"
#include "gil.hpp"
#include "peak.hpp"
#include "random.hpp"
#include "simd/buffer.hpp"
#include "simd/lane.hpp"
#include "training/projection.hpp"

namespace {

template <class T>
nb::object lanes_tanh(const nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>& x) {
  const std::size_t n = x.shape(0), width = elman::kLanes<T>;
  elman::Buffer<T> out((n + width - 1) / width * width);
  std::copy_n(x.data(), n, out.data());
  for (std::size_t i = 0; i < n; i += width)
    elman::store<T>(out.data() + i, elman::tanh(elman::load<T>(out.data() + i)));
  return new_array(out.data(), 1, n);
}

nb::object clip_singular_values(const Matrix& columns, double limit) {
  const std::size_t n = columns.shape(0), rows = columns.shape(1);
  elman::Buffer<double> A(n * rows);
  std::copy_n(columns.data(), n * rows, A.data());
  elman::SpectrumClipper clipper;
  clipper.prepare(int(rows), int(n));
  clipper.clip(A.data(), int(rows), int(rows), int(n), limit);
  return new_array(A.data(), n, rows);
}

nb::object normal(const std::vector<std::uint64_t>& entropy, std::size_t n) {
  elman::NormalStream stream(entropy);
  std::vector<double> drawn(n);
  for (double& each : drawn) each = stream.next();
  return new_array(drawn.data(), 1, n);
}

// The instruction sets this machine can run, best first, by the names of the modules.
std::vector<std::string> supported() {
  std::vector<std::string> names;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    names.push_back("avx512");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) names.push_back("avx2");
#endif
  names.push_back("baseline");
  return names;
}

}  // namespace

void bind_probes(nb::module_& m) {
  m.attr("LANE_BYTES") = ELMAN_LANE_BYTES;
  m.def("supported", &supported);
  m.def("close", &WithoutGil::close);
  m.def("forked", &WithoutGil::forked);
  m.def("tanh", &lanes_tanh<float>, nb::arg().noconvert());
  m.def("tanh", &lanes_tanh<double>, nb::arg().noconvert());
  m.def("clip_singular_values", &clip_singular_values);
  m.def("normal", &normal);
  m.def("peak_gflops", [](bool double_precision) {
    WithoutGil released;
    return double_precision ? elman::peak_gflops<double>() : elman::peak_gflops<float>();
  });
}
