//go:build !purego

#include "textflag.h"

// func dotsAVX2(codes *byte, query *int16, out *int32, rows, stride int)
//
// Thirty-two codes at once are widened to 16 bits, multiplied with the query and
// added in pairs to 32 bits: Y0 and Y1 have eight sums each.
TEXT ·dotsAVX2(SB), NOSPLIT, $0-40
	MOVQ codes+0(FP), SI
	MOVQ query+8(FP), DI
	MOVQ out+16(FP), DX
	MOVQ rows+24(FP), CX
	MOVQ stride+32(FP), BX

row:
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	MOVQ  DI, R8
	MOVQ  BX, R9

column:
	PREFETCHT0 4096(SI)
	VPMOVSXBW (SI), Y2
	VPMOVSXBW 16(SI), Y3
	VPMADDWD  (R8), Y2, Y2
	VPMADDWD  32(R8), Y3, Y3
	VPADDD    Y2, Y0, Y0
	VPADDD    Y3, Y1, Y1
	ADDQ      $32, SI
	ADDQ      $64, R8
	SUBQ      $32, R9
	JNZ       column

	// The sum of sixteen.
	VPADDD       Y1, Y0, Y0
	VEXTRACTI128 $1, Y0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0x4e, X0, X1
	VPADDD       X1, X0, X0
	VPSHUFD      $0xb1, X0, X1
	VPADDD       X1, X0, X0
	VMOVD        X0, AX
	MOVL         AX, (DX)
	ADDQ         $4, DX
	DECQ         CX
	JNZ          row

	VZEROUPPER
	RET
