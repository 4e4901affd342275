// ISA-L's checksums with carry-less multiplication: CRC-64 of the reflected ECMA polynomial, CRC-32C.
#pragma once
#include <isa-l/crc.h>
#include <isa-l/crc64.h>
