# One source of kernels, compiled once for each instruction set; which one runs is chosen at run
# time. -O3: the inner loops must be unrolled into registers whatever the build type's level is.
# Contraction makes x * y + z one operation.
set(cpu_dir ${CMAKE_SOURCE_DIR}/src/kernels/cpu)
set(block_flags -O3 -ffp-contract=fast -fno-math-errno)
foreach(name portable emulated_bf16 emulated_amx)
  set_source_files_properties(${cpu_dir}/blocked_${name}.cc PROPERTIES
    COMPILE_OPTIONS "${block_flags}")
endforeach()
# Row operations: loops over long rows, of the instructions that every machine has.
set_source_files_properties(${cpu_dir}/row_ops.cc ${cpu_dir}/row_sums.cc ${cpu_dir}/merge_row.cc PROPERTIES
  COMPILE_OPTIONS "-O3")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(avx512_flags -mavx512f -mavx512dq -mavx512vl -mavx512bw -mprefer-vector-width=512)
  set_source_files_properties(${cpu_dir}/blocked_avx2.cc PROPERTIES
    COMPILE_OPTIONS "${block_flags};-mavx2;-mfma")
  set_source_files_properties(${cpu_dir}/blocked_avx512.cc PROPERTIES
    COMPILE_OPTIONS "${block_flags};-mavx2;-mfma;${avx512_flags}")
  # Tile instructions are written as assembly: no flag for them, so that the compiler makes none.
  foreach(name avx512_bf16 amx)
    set_source_files_properties(${cpu_dir}/blocked_${name}.cc PROPERTIES
      COMPILE_OPTIONS "${block_flags};-mavx2;-mfma;${avx512_flags};-mavx512bf16")
  endforeach()
endif()
