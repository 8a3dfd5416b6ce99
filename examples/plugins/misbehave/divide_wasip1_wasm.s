#include "textflag.h"

// func divide(a, b int64) int64
TEXT ·divide(SB), NOSPLIT, $0-24
	Get SP
	I64Load a+0(FP)
	I64Load b+8(FP)
	I64DivS
	I64Store ret+16(FP)
	RET
