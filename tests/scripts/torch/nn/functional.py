def scaled_dot_product_attention(q, k, v, is_causal):
    assert is_causal and q.shape == k.shape == v.shape, (q.shape, k.shape, v.shape)
    return q
