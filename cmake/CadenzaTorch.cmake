# libtorch from an installed torch wheel, as target cadenza_torch.
#
# The libraries are linked directly: find_package(Torch) of a CUDA build asks for a CUDA toolkit, which
# a user of the wheel need not have. Headers are SYSTEM, so that our warnings-as-errors stop at our code.
if(NOT CADENZA_PYTHON)
  set(CADENZA_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()
execute_process(
  COMMAND ${CADENZA_PYTHON} -c
    "import torch, os; print(os.path.dirname(torch.__file__)); print(torch.__version__); print(int(torch._C._GLIBCXX_USE_CXX11_ABI))"
  OUTPUT_VARIABLE torch_facts OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_VARIABLE torch_error RESULT_VARIABLE torch_failed)
if(torch_failed)
  message(FATAL_ERROR "[cmake] no torch in ${CADENZA_PYTHON}; run tools/setup, or give -DCADENZA_PYTHON=, "
    "or use the preset core-only (no libtorch)\n${torch_error}")
endif()
string(REPLACE "\n" ";" torch_facts "${torch_facts}")
list(GET torch_facts 0 torch_dir)
list(GET torch_facts 1 CADENZA_TORCH_VERSION)
list(GET torch_facts 2 torch_abi)
message(STATUS "torch ${CADENZA_TORCH_VERSION} in ${torch_dir}")

add_library(cadenza_torch INTERFACE)
target_include_directories(cadenza_torch SYSTEM INTERFACE
  ${torch_dir}/include ${torch_dir}/include/torch/csrc/api/include)
target_compile_definitions(cadenza_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=${torch_abi} USE_C10D_GLOO)
target_link_directories(cadenza_torch INTERFACE ${torch_dir}/lib)
target_link_options(cadenza_torch INTERFACE -Wl,-rpath,${torch_dir}/lib)
target_link_libraries(cadenza_torch INTERFACE ${torch_dir}/lib/libc10.so ${torch_dir}/lib/libtorch_cpu.so)
# The CPU half of a CUDA build names CUDA's libraries, which its own RUNPATH finds at run time (they come
# with the wheel) but the linker may not. Its CUDA half is not linked: nothing here uses it yet.
target_link_options(cadenza_torch INTERFACE -Wl,--allow-shlib-undefined)

file(GLOB CADENZA_TORCH_GOMP ${torch_dir}/lib/libgomp*.so* ${torch_dir}.libs/libgomp*.so*)
if(CADENZA_TORCH_GOMP)
  list(GET CADENZA_TORCH_GOMP 0 CADENZA_TORCH_GOMP)
endif()
