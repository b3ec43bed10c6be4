# The functions every folder's CMakeLists.txt uses, so that adding a file is one line.

# tgpt_library(name file.cpp ... DEPENDS lib ...): a plain C++ library.
function(tgpt_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS})
endfunction()

# tgpt_tool(name file.cpp ... DEPENDS lib ...): an executable in build/bin; its sources see TGPT_VERSION.
# The global property TGPT_PROGRAMS lists all tools and test programs.
function(tgpt_tool name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  tgpt_sanitize(${name})
  set_property(GLOBAL APPEND PROPERTY TGPT_PROGRAMS ${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS})
  target_compile_definitions(${name} PRIVATE TGPT_VERSION="${PROJECT_VERSION}")
endfunction()

# tgpt_unit_test(name file.cpp ... DEPENDS lib ...): a GoogleTest binary, run by ctest.
function(tgpt_unit_test name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  tgpt_sanitize(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPENDS} GTest::gtest_main)
  set_property(GLOBAL APPEND PROPERTY TGPT_PROGRAMS ${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/unit)
  add_test(NAME ${name} COMMAND ${name})
endfunction()

# Every program of an AddressSanitizer build carries its options.
function(tgpt_sanitize program)
  if(TGPT_ASAN)
    target_sources(${program} PRIVATE ${CMAKE_SOURCE_DIR}/cmake/AsanOptions.cpp)
  endif()
endfunction()
