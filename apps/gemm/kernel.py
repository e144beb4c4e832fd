"""D = A B^T: fp16 in, fp32 accumulation, any M, N, K.

Four warps compute a 64 x 64 tile of D. Tiles of A and B come through two stages of swizzled shared memory; the next
stage is in flight (cp.async) while the tensor cores work on this one. `oob=0` makes a copy read zeros past the
end of a tensor and `oob="skip"` makes it write nothing there, so ragged sizes need no second kernel.
"""

from tirx.layout import S, SwizzleMode, TileLayout, laneid, mma_shared_layout
from tirx.script import T, Tx

PARAMS = {"M": 512, "N": 512, "K": 512}
DEMO = [{"M": 512, "N": 512, "K": 512}, {"M": 500, "N": 300, "K": 211}]
BM, BN, BK, WM, WN = 64, 64, 32, 32, 32

d_atom = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
a_atom = d_atom.tile_to([16, 16], [16, 8])
b_atom = TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 2, 1 @ laneid, 1)])


def make(M, N, K):
    stages = mma_shared_layout("float16", SwizzleMode.SWIZZLE_64B_ATOM, (2, BM, BK))
    # cp.async moves 4, 8 or 16 bytes; rows of odd length are only 2-byte aligned and are copied by the threads.
    load = Tx.cta.copy_async if K % 2 == 0 else Tx.cta.copy

    @T.prim_func
    def gemm(A_ptr: T.handle, B_ptr: T.handle, D_ptr: T.handle):
        A = T.match_buffer(A_ptr, (M, K), "float16")
        B = T.match_buffer(B_ptr, (N, K), "float16")
        D = T.match_buffer(D_ptr, (M, N), "float32")
        T.device_entry()
        bx, by = T.cta_id([(M + BM - 1) // BM, (N + BN - 1) // BN])
        warp = T.warp_id([4])
        m: T.let = warp // 2 * WM
        n: T.let = warp % 2 * WN
        As = T.alloc_shared((2, BM, BK), "float16", layout=stages)
        Bs = T.alloc_shared((2, BN, BK), "float16", layout=stages)
        Af = T.alloc_buffer((WM, BK), "float16", scope="local", layout=a_atom.tile_to([WM, BK], [16, 16]))
        Bf = T.alloc_buffer((WN, BK), "float16", scope="local", layout=b_atom.tile_to([WN, BK], [8, 16]))
        Df = T.alloc_buffer((WM, WN), "float32", scope="local", layout=d_atom.tile_to([WM, WN], [16, 8]))

        @T.inline
        def fetch(stage, k):
            load(As[stage, :, :], A[bx * BM : bx * BM + BM, k * BK : k * BK + BK], oob=0)
            load(Bs[stage, :, :], B[by * BN : by * BN + BN, k * BK : k * BK + BK], oob=0)
            T.ptx.cp.async_.commit_group()

        steps = T.meta_var((K + BK - 1) // BK)
        Tx.warp.zero(Df[:, :])
        fetch(0, 0)
        for k in T.serial(steps):
            if k + 1 < steps:
                fetch((k + 1) % 2, k + 1)
                T.ptx.cp.async_.wait_group(1)
            else:
                T.ptx.cp.async_.wait_group(0)
            T.cuda.cta_sync()
            Tx.warp.copy(Af[:, :], As[k % 2, m : m + WM, :])
            Tx.warp.copy(Bf[:, :], Bs[k % 2, n : n + WN, :])
            Tx.warp.gemm(Df, Af, Bf, Df, transpose_A=False, transpose_B=True, alpha=1.0, beta=1.0)
            T.cuda.cta_sync()
        Tx.warp.copy(D[bx * BM + m : bx * BM + m + WM, by * BN + n : by * BN + n + WN], Df[:, :], oob="skip")

    return gemm
