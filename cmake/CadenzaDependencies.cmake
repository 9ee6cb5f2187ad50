# Everything from outside, found once. Own flags live in cadenza_warnings, which is linked PRIVATE.
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)

add_library(cadenza_warnings INTERFACE)
target_compile_options(cadenza_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Wswitch -Werror
  # Designated initialisers that leave defaults alone are how option structs are filled here.
  -Wno-missing-field-initializers)

if(CADENZA_SANITIZE)
  add_compile_options(-fsanitize=${CADENZA_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CADENZA_SANITIZE})
  if(CADENZA_SANITIZE MATCHES undefined)
    add_compile_options(-fno-sanitize-recover=undefined)
  endif()
  if(CADENZA_SANITIZE MATCHES thread)
    # libgomp is not instrumented: its own synchronisation would be reported as races.
    list(APPEND CADENZA_TEST_ENVIRONMENT OMP_NUM_THREADS=1)
  endif()
endif()

# OpenMP without a second runtime: the torch wheel carries its own libgomp, and two in one process would
# keep two thread pools. So compile with -fopenmp, and link the wheel's copy where there is one.
add_library(cadenza_openmp INTERFACE)
target_compile_options(cadenza_openmp INTERFACE ${OpenMP_CXX_FLAGS})

if(CADENZA_TORCH)
  include(CadenzaTorch)
endif()
if(CADENZA_TORCH_GOMP)
  target_link_libraries(cadenza_openmp INTERFACE ${CADENZA_TORCH_GOMP})
else()
  target_link_libraries(cadenza_openmp INTERFACE OpenMP::OpenMP_CXX)
endif()
target_link_libraries(cadenza_openmp INTERFACE Threads::Threads)
