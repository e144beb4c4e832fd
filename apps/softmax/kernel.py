"""Row softmax in float32: one warp per row, the row in registers, maximum and sum by shuffles.

A row longer than the tensor is read as minus infinity there (`oob=`), which neither the maximum nor the sum notices.
"""

import math

from tirx.layout import R, S, TileLayout, laneid
from tirx.script import T, Tx

PARAMS = {"M": 64, "N": 1000}
DEMO = [{"M": 64, "N": 1000}, {"M": 7, "N": 33}]
WARPS = 4


def row_layout(n):
    """n elements over 32 lanes: 4 neighbours per lane when the row is long enough, 1 otherwise."""
    v = 4 if n % 128 == 0 else 1
    return TileLayout(S[(1, n // (32 * v), 32, v) : (0, v, 1 @ laneid, 1)])


def make(M, N):
    width = -(-N // 128) * 128 if N > 64 else -(-N // 32) * 32
    one_per_row = TileLayout(S[(1, 1) : (1, 1)] + R[32 : 1 @ laneid])

    @T.prim_func
    def softmax(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (M, N), "float32")
        B = T.match_buffer(B_ptr, (M, N), "float32")
        T.device_entry()
        bx = T.cta_id([(M + WARPS - 1) // WARPS])
        warp = T.warp_id([WARPS])
        row: T.let = bx * WARPS + warp
        x = T.alloc_buffer((1, width), "float32", scope="local", layout=row_layout(width))
        top = T.alloc_buffer((1, 1), "float32", scope="local", layout=one_per_row)
        total = T.alloc_buffer((1, 1), "float32", scope="local", layout=one_per_row)
        Tx.warp.copy(x[:, :], A[row : row + 1, 0:width], oob=-math.inf)
        Tx.warp.max(top[:, :], x[:, :], axes=1)
        Tx.warp.sub(x[:, :], x[:, :], top[:, :])
        Tx.warp.exp(x[:, :], x[:, :])
        Tx.warp.sum(total[:, :], x[:, :], axes=1)
        Tx.warp.fdiv(x[:, :], x[:, :], total[:, :])
        Tx.warp.copy(B[row : row + 1, 0:width], x[:, :], oob="skip")

    return softmax
