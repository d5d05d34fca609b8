def scaled_dot_product_attention(q, k, v, is_causal, enable_gqa=False):
    assert is_causal and k.shape == v.shape and q.shape[-2:] == k.shape[-2:], (q.shape, k.shape, v.shape)
    assert q.shape[1] % k.shape[1] == 0 if enable_gqa else q.shape[1] == k.shape[1], (q.shape, k.shape)
    return q
