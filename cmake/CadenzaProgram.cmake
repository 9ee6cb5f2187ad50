# The command line. One file per verb under src/cli/verbs; verbs that need a model have a no_ twin that
# says what to install, so that the table of verbs is the same in every build.
file(GLOB cli_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/*.cc ${CMAKE_SOURCE_DIR}/src/cli/plan/*.cc ${CMAKE_SOURCE_DIR}/src/cli/verbs/*.cc)
file(GLOB cli_torch CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/verbs/torch/*.cc)
file(GLOB cli_no_torch CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/cli/verbs/no_torch/*.cc)
list(FILTER cli_sources EXCLUDE REGEX "_test\\.cc$")
if(cli_sources)
  if(CADENZA_TORCH)
    list(APPEND cli_sources ${cli_torch})
    set(cli_libs cadenza_train cadenza_model)
  else()
    list(APPEND cli_sources ${cli_no_torch})
  endif()
  add_executable(cadenza ${cli_sources})
  target_link_libraries(cadenza PRIVATE ${cli_libs} cadenza_planner cadenza_program cadenza_profile cadenza_report CLI11::CLI11 cadenza_warnings)
  target_include_directories(cadenza PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_compile_definitions(cadenza PRIVATE
    CADENZA_VERSION="${PROJECT_VERSION}" CADENZA_TORCH_VERSION="${CADENZA_TORCH_VERSION}")
endif()
