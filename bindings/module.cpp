// The Python face of the core, and the only C++ that includes Python: one file a topic. It is compiled once
// for each instruction set into a module of its own; elman/_core/__init__.py chooses one.
#include <nanobind/nanobind.h>

void bind_fleet(nanobind::module_& m);
void bind_codes(nanobind::module_& m);
void bind_model(nanobind::module_& m);
void bind_forecaster(nanobind::module_& m);
void bind_probes(nanobind::module_& m);

NB_MODULE(ELMAN_MODULE, m) {
  bind_fleet(m);  // what models are derived from
  bind_codes(m);
  bind_model(m);
  bind_forecaster(m);
  bind_probes(m);
}
