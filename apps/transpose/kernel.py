"""B = A^T through shared memory: rows are read and written in full, and the padded tile has no bank conflicts."""

from tirx.layout import S, TileLayout
from tirx.script import T, Tx

PARAMS = {"M": 256, "N": 128}
DEMO = [{"M": 256, "N": 128}, {"M": 100, "N": 77}]
TILE = 32


def make(M, N):
    # One extra element per row: a column then touches all 32 banks.
    padded = TileLayout(S[(TILE, TILE) : (TILE + 1, 1)])

    @T.prim_func
    def transpose(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (M, N), "float32")
        B = T.match_buffer(B_ptr, (N, M), "float32")
        T.device_entry()
        bx, by = T.cta_id([(M + TILE - 1) // TILE, (N + TILE - 1) // TILE])
        tx = T.thread_id([256])
        tile = T.alloc_shared((TILE, TILE), "float32", layout=padded)
        Tx.cta.copy(tile[:, :], A[bx * TILE : bx * TILE + TILE, by * TILE : by * TILE + TILE], oob=0)
        T.cuda.cta_sync()
        Tx.cta.copy(
            B[by * TILE : by * TILE + TILE, bx * TILE : bx * TILE + TILE],
            tile.permute(1, 0)[:, :],
            oob="skip",
        )

    return transpose
