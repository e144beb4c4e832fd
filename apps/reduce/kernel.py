"""Sum of all N elements: strided loads into registers, a tree over the CTA, one atomic addition per CTA.

The result is added to out[0], which the caller sets to 0.
"""

from tirx.layout import R, S, TileLayout, laneid, warpid
from tirx.script import T, Tx

PARAMS = {"N": 1 << 16}
DEMO = [{"N": 1 << 16}, {"N": 10007}]
WARPS, V, PER = 8, 4, 4
TILE = WARPS * 32 * V * PER


def make(N):
    tile = TileLayout(S[(PER, WARPS, 32, V) : (V, 1 @ warpid, 1 @ laneid, 1)])
    scalar = TileLayout(S[(1,) : (1,)] + R[32 : 1 @ laneid] + R[WARPS : 1 @ warpid])

    @T.prim_func
    def reduce(A_ptr: T.handle, out_ptr: T.handle):
        A = T.match_buffer(A_ptr, (N,), "float32")
        out = T.match_buffer(out_ptr, (1,), "float32")
        T.device_entry()
        bx = T.cta_id([(N + TILE - 1) // TILE])
        tx = T.thread_id([WARPS * 32])
        x = T.alloc_buffer((TILE,), "float32", scope="local", layout=tile)
        total = T.alloc_buffer((1,), "float32", scope="local", layout=scalar)
        Tx.cta.copy(x[:], A[bx * TILE : bx * TILE + TILE], oob=0)
        Tx.cta.sum(total[:], x[:], axes=0)
        if tx == 0:
            T.cuda.atomic_add(out.ptr_to([0]), total.local()[0])

    return reduce
