# cadenza_layer(NAME core [DIR core] [LIBS ...] [EXCLUDE subfolder ...] [TORCH])
#
# One layer = one static library cadenza_NAME of every .cc under src/DIR, and one test program NAME_test of
# every *_test.cc there. Files are found by pattern, so that a test cannot be left out of the build. It is linked
# with the layers that tools/layers.txt lets src/DIR include.
# TORCH: the layer may include libtorch; it is compiled in the pool that limits such units.
# APART: never compiled together (CADENZA_UNITY). Most of a unit's time goes into headers, so eight sources together take
# little longer than one; their names in anonymous namespaces must then differ.
function(cadenza_layer)
  cmake_parse_arguments(L "TORCH;APART" "NAME;DIR" "LIBS;EXCLUDE" ${ARGN})
  if(NOT L_DIR)
    set(L_DIR ${L_NAME})
  endif()
  cadenza_layer_deps(${L_DIR} L_DEPS L_TEST_DEPS)
  set(dir ${CMAKE_SOURCE_DIR}/src/${L_DIR})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  foreach(sub IN LISTS L_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "/src/${L_DIR}/${sub}/")
  endforeach()
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_(test|bench)\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")

  set(target cadenza_${L_NAME})
  if(sources)
    add_library(${target} STATIC ${sources})
    target_link_libraries(${target} PUBLIC ${L_DEPS} ${L_LIBS} PRIVATE $<BUILD_INTERFACE:cadenza_warnings>)
    target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>)
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${L_DEPS} ${L_LIBS})
    target_include_directories(${target} INTERFACE ${CMAKE_SOURCE_DIR}/src)
  endif()
  if(sources AND NOT L_APART)
    cadenza_unity(${target})
  endif()
  if(L_TORCH AND sources)
    target_link_libraries(${target} PUBLIC cadenza_torch)
    set_target_properties(${target} PROPERTIES JOB_POOL_COMPILE torch)
  endif()
  add_library(Cadenza::${L_NAME} ALIAS ${target})

  if(tests)
    cadenza_test(NAME ${L_NAME}_test SOURCES ${tests} LIBS ${target} ${L_TEST_DEPS})
    if(L_TORCH)
      set_target_properties(${L_NAME}_test PROPERTIES JOB_POOL_COMPILE torch)
    endif()
  endif()
endfunction()

# The libraries that src/DIR may include by tools/layers.txt, and those that only its tests may. A folder inside a
# layer, planner/strategies say, is in that layer's library.
function(cadenza_layer_deps dir deps_out test_deps_out)
  set(table ${CMAKE_SOURCE_DIR}/tools/layers.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${table})
  file(STRINGS ${table} line REGEX "^${dir}:")
  if(NOT line)
    message(FATAL_ERROR "tools/layers.txt: expected a line for ${dir}, got none; say what it may include")
  endif()
  string(REGEX REPLACE "^[^:]*:" "" words "${line}")
  string(REGEX REPLACE "![^ ]*" "" words "${words}")
  separate_arguments(words UNIX_COMMAND "${words}")
  foreach(word IN LISTS words)
    string(REPLACE "/" "_" library "cadenza_${word}")
    if(library MATCHES "^cadenza_[+](.*)")
      list(APPEND test_deps cadenza_${CMAKE_MATCH_1})
    else()
      list(APPEND deps ${library})
    endif()
  endforeach()
  set(${deps_out} ${deps} PARENT_SCOPE)
  set(${test_deps_out} ${test_deps} PARENT_SCOPE)
endfunction()

function(cadenza_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CADENZA_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()

# cadenza_test(NAME x_test SOURCES ... LIBS ...): a GoogleTest program, one ctest entry with a time limit.
function(cadenza_test)
  cmake_parse_arguments(T "" "NAME" "SOURCES;LIBS" ${ARGN})
  add_executable(${T_NAME} ${T_SOURCES})
  # Linked into every test: spawn_ranks, random batches, expect_close (src/testing).
  target_link_libraries(${T_NAME} PRIVATE ${T_LIBS} cadenza_testing cadenza_warnings GTest::gmock GTest::gtest_main)
  target_compile_definitions(${T_NAME} PRIVATE
    CADENZA_SOURCE_DIR="${CMAKE_SOURCE_DIR}" CADENZA_BINARY_DIR="${CMAKE_BINARY_DIR}")
  add_test(NAME ${T_NAME} COMMAND ${T_NAME})
  set_tests_properties(${T_NAME} PROPERTIES TIMEOUT 600 ENVIRONMENT "${CADENZA_TEST_ENVIRONMENT}")
endfunction()
