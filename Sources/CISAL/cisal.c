#include "cisal.h"
