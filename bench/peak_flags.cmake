# Each peak loop is compiled for its own instruction set and chosen at run time, as the kernels are
# (src/kernels/isa_flags.cmake). -O3 and contraction: chains in registers, x * m + c one operation.
set(loop_flags -O3 -ffp-contract=fast)
set_source_files_properties(peak_portable.cc PROPERTIES COMPILE_OPTIONS "${loop_flags}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(avx512_flags -mavx2 -mfma -mavx512f -mavx512dq -mavx512vl -mavx512bw)
  set_source_files_properties(peak_avx2.cc PROPERTIES COMPILE_OPTIONS "${loop_flags};-mavx2;-mfma")
  set_source_files_properties(peak_avx512.cc PROPERTIES
    COMPILE_OPTIONS "${loop_flags};${avx512_flags}")
  set_source_files_properties(peak_avx512_bf16.cc PROPERTIES
    COMPILE_OPTIONS "${loop_flags};${avx512_flags};-mavx512bf16")
  set_source_files_properties(peak_amx.cc PROPERTIES
    COMPILE_OPTIONS "${loop_flags};-mamx-tile;-mamx-bf16")
endif()
