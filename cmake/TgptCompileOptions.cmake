# Options that hold for every target: warnings, linker, sanitizer, ccache.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
# Checks stay on in every build that is not a release: no NDEBUG. Line tables are
# enough for a stack trace and half the size of full debug information.
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g1")

# Headers of MLIR, not our code, are what a compiler spends its time on.
if(TGPT_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 12)
endif()

find_program(TGPT_CCACHE ccache)
if(TGPT_CCACHE)
  # A precompiled header is only cacheable when ccache may ignore its time stamp.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} ${TGPT_CCACHE})
endif()

find_program(TGPT_LLD NAMES ld.lld-22 ld.lld PATHS /usr/lib/llvm-22/bin)
if(TGPT_LLD)
  add_link_options(-fuse-ld=lld -B/usr/lib/llvm-22/bin)
endif()

# nvcc hands warnings on to the host's compiler.
foreach(warning -Wall -Wextra -Wno-unused-parameter)
  add_compile_options($<IF:$<COMPILE_LANGUAGE:CUDA>,-Xcompiler=${warning},${warning}>)
endforeach()
if(TGPT_UNITY) # test fixtures of files that are included are no one else's
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
endif()
# At -O3 GCC 12 sees copies within std::string's operator+ and append that overlap or are too long, where none are or do
# (GCC PR 105329 and others). A development build, at -O2, has these warnings.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  foreach(warning restrict stringop-overflow array-bounds)
    add_compile_options($<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Wno-${warning}>)
  endforeach()
endif()
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_BINARY_DIR})

if(TGPT_ASAN)
  # -O1 keeps stacks readable and halves the build; GCC's warning is not meant for instrumented code.
  add_compile_options(-fsanitize=address -fno-omit-frame-pointer -O1 -Wno-maybe-uninitialized)
  add_link_options(-fsanitize=address)
endif()
