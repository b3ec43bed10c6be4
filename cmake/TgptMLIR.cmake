# LLVM and MLIR 22 from Debian: linked as the two shared libraries, never as archives.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
set(LLVM_EXTERNAL_LIT ${LLVM_TOOLS_BINARY_DIR}/lit CACHE STRING "" FORCE)
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
add_definitions(${LLVM_DEFINITIONS})

# One precompiled header for dialects, passes and the compiler's IR parts.
add_library(tgpt_mlir_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/Pch.cpp)
target_precompile_headers(tgpt_mlir_pch PRIVATE ${CMAKE_SOURCE_DIR}/cmake/Pch.h)

# tgpt_dialect_tablegen(Name ENUMS Name.td [TYPES]): what <Name>Ops.td declares, as <Name>{Dialect,Enums,Attrs,Types,Ops}
# .{h,cpp}.inc. The target is <name>_dialect_gen. ENUMS is the file whose enums are the dialect's own: a generator
# takes those of included dialects as well.
function(tgpt_dialect_tablegen name)
  cmake_parse_arguments(ARG "TYPES" "ENUMS" "" ${ARGN})
  string(TOLOWER ${name} lower)
  set(LLVM_TARGET_DEFINITIONS ${ARG_ENUMS})
  mlir_tablegen(${name}Enums.h.inc -gen-enum-decls)
  mlir_tablegen(${name}Enums.cpp.inc -gen-enum-defs)
  set(LLVM_TARGET_DEFINITIONS ${name}Ops.td)
  mlir_tablegen(${name}Dialect.h.inc -gen-dialect-decls -dialect=${lower})
  mlir_tablegen(${name}Dialect.cpp.inc -gen-dialect-defs -dialect=${lower})
  mlir_tablegen(${name}Attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${lower})
  mlir_tablegen(${name}Attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${lower})
  if(ARG_TYPES)
    mlir_tablegen(${name}Types.h.inc -gen-typedef-decls -typedefs-dialect=${lower})
    mlir_tablegen(${name}Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${lower})
  endif()
  mlir_tablegen(${name}Ops.h.inc -gen-op-decls -dialect=${lower})
  mlir_tablegen(${name}Ops.cpp.inc -gen-op-defs -dialect=${lower})
  add_public_tablegen_target(${lower}_dialect_gen)
endfunction()

# tgpt_mlir_library(name file.cpp ... DEPENDS lib ... GENERATED target ...): a library over MLIR.
function(tgpt_mlir_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;GENERATED" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  target_precompile_headers(${name} REUSE_FROM tgpt_mlir_pch)
  target_link_libraries(${name} PUBLIC ${ARG_DEPENDS} MLIR LLVM)
  if(ARG_GENERATED)
    add_dependencies(${name} ${ARG_GENERATED})
  endif()
endfunction()

# tgpt_passes(Name file.cpp ... DEPENDS lib ...): the passes of one phase. The folder has a
# Passes.td; generates Passes.h.inc with register<Name>Passes(). The library is tgpt_<name>_passes.
# Statistics count with our class: see passes/PassStatistic.h.
function(tgpt_passes name)
  cmake_parse_arguments(ARG "" "" "DEPENDS" ${ARGN})
  string(TOLOWER ${name} lower)
  set(LLVM_TARGET_DEFINITIONS Passes.td)
  mlir_tablegen(PassesUpstream.h.inc -gen-pass-decls -name=${name})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/Passes.h.inc)
  add_custom_command(OUTPUT ${generated}
    COMMAND sed "s/::mlir::Pass::Statistic/::tgpt::PassStatistic/"
      ${CMAKE_CURRENT_BINARY_DIR}/PassesUpstream.h.inc > ${generated}
    DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/PassesUpstream.h.inc
    VERBATIM)
  list(APPEND TABLEGEN_OUTPUT ${generated})
  add_public_tablegen_target(tgpt_${lower}_passes_gen)
  tgpt_mlir_library(tgpt_${lower}_passes ${ARG_UNPARSED_ARGUMENTS}
    DEPENDS tgpt_dialect dist_dialect tgpt_pass_statistics ${ARG_DEPENDS}
    GENERATED tgpt_${lower}_passes_gen)
endfunction()
