"""y = x / sqrt(mean(x^2) + eps) * w: bf16 in and out, float32 inside; one CTA of 4 warps per row."""

from tirx.layout import R, S, TileLayout, laneid, warpid
from tirx.script import T, Tx

PARAMS = {"M": 32, "N": 2048, "eps": 1e-6}
DEMO = [{"M": 32, "N": 2048, "eps": 1e-6}, {"M": 5, "N": 1000, "eps": 1e-6}]
WARPS, V = 4, 8


def make(M, N, eps):
    width = -(-N // (32 * WARPS * V)) * 32 * WARPS * V
    per = width // (32 * WARPS * V)
    row = TileLayout(S[(1, per, WARPS, 32, V) : (0, V, 1 @ warpid, 1 @ laneid, 1)])
    scalar = TileLayout(S[(1, 1) : (1, 1)] + R[32 * 1 : 1 @ laneid] + R[WARPS : 1 @ warpid])

    @T.prim_func
    def rmsnorm(X_ptr: T.handle, W_ptr: T.handle, Y_ptr: T.handle):
        X = T.match_buffer(X_ptr, (M, N), "bfloat16")
        W = T.match_buffer(W_ptr, (1, N), "bfloat16")
        Y = T.match_buffer(Y_ptr, (M, N), "bfloat16")
        T.device_entry()
        bx = T.cta_id([M])
        warp = T.warp_id([WARPS])
        h = T.alloc_buffer((1, width), "bfloat16", scope="local", layout=row)
        x = T.alloc_buffer((1, width), "float32", scope="local", layout=row)
        y = T.alloc_buffer((1, width), "float32", scope="local", layout=row)
        w = T.alloc_buffer((1, width), "float32", scope="local", layout=row)
        mean = T.alloc_buffer((1, 1), "float32", scope="local", layout=scalar)
        Tx.cta.copy(h[:, :], X[bx : bx + 1, 0:width], oob=0)
        Tx.cta.cast(x[:, :], h[:, :])
        Tx.cta.copy(h[:, :], W[0:1, 0:width], oob=0)
        Tx.cta.cast(w[:, :], h[:, :])
        Tx.cta.mul(y[:, :], x[:, :], x[:, :])
        Tx.cta.sum(mean[:, :], y[:, :], axes=1)
        Tx.cta.sqrt(mean[:, :], mean[:, :], T.float32(eps), T.float32(1.0 / N))
        Tx.cta.fdiv(x[:, :], x[:, :], mean[:, :])
        Tx.cta.mul(x[:, :], x[:, :], w[:, :])
        Tx.cta.cast(h[:, :], x[:, :])
        Tx.cta.copy(Y[bx : bx + 1, 0:width], h[:, :], oob="skip")

    return rmsnorm
