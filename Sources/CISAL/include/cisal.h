// ISA-L's CRC-64: the reflected ECMA polynomial with carry-less multiplication.
#pragma once
#include <isa-l/crc64.h>
