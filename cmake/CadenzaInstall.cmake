# `cmake --install BUILD --component core` makes find_package(Cadenza COMPONENTS core) work: everything
# from lengths to verified plans and programs, without libtorch. Headers keep their paths under src/, in
# include/cadenza, so that they cannot clash with others'.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(core_targets cadenza_base cadenza_core cadenza_planner cadenza_program)
install(TARGETS ${core_targets} EXPORT CadenzaTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT core
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cadenza)
foreach(layer base core planner program)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/${layer} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/cadenza
    COMPONENT core FILES_MATCHING PATTERN "*.h" PATTERN "*_test.h" EXCLUDE)
endforeach()
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Cadenza)
install(EXPORT CadenzaTargets NAMESPACE Cadenza:: DESTINATION ${config_dir} COMPONENT core)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/CadenzaConfig.cmake.in
  ${CMAKE_BINARY_DIR}/CadenzaConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/CadenzaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/CadenzaConfig.cmake ${CMAKE_BINARY_DIR}/CadenzaConfigVersion.cmake
  DESTINATION ${config_dir} COMPONENT core)

# A program outside the tree is built against an installed copy, and run.
add_test(NAME install_consumer COMMAND ${CMAKE_COMMAND}
  -DBUILD=${CMAKE_BINARY_DIR} -DSOURCE=${CMAKE_SOURCE_DIR}/examples/consumer -DCOMPILER=${CMAKE_CXX_COMPILER}
  -DFLAGS=${CMAKE_CXX_FLAGS} -P ${CMAKE_SOURCE_DIR}/cmake/test_consumer.cmake)
set_tests_properties(install_consumer PROPERTIES TIMEOUT 300)
