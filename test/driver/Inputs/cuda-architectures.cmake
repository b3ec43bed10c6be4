# cmake -DVERSION=12.2 -DASKED=all -P: what a build with that toolkit is for.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/../../../cmake/TgptCudaArchitectures.cmake)
string(REPLACE "," ";" asked "${ASKED}")
tgpt_cuda_architectures(architectures problem "${VERSION}" "${asked}")
message(NOTICE "toolkit ${VERSION}, ${ASKED}: [${architectures}] ${problem}")
