CREATE TABLE IF NOT EXISTS test (
  build_commit TEXT,
  build_number TEXT,
  cpu_info TEXT,
  gpu_info TEXT,
  backends TEXT,
  model_filename TEXT,
  model_type TEXT,
  model_size TEXT,
  model_n_params TEXT,
  n_batch TEXT,
  n_ubatch TEXT,
  n_threads TEXT,
  type_k TEXT,
  type_v TEXT,
  n_gpu_layers TEXT,
  split_mode TEXT,
  flash_attn TEXT,
  n_prompt TEXT,
  n_gen TEXT,
  n_depth TEXT,
  test_time TEXT,
  avg_ns TEXT,
  stddev_ns TEXT,
  avg_ts TEXT,
  stddev_ts TEXT
);

INSERT INTO test (build_commit, build_number, cpu_info, gpu_info, backends, model_filename, model_type, model_size, model_n_params, n_batch, n_ubatch, n_threads, type_k, type_v, n_gpu_layers, split_mode, flash_attn, n_prompt, n_gen, n_depth, test_time, avg_ns, stddev_ns, avg_ts, stddev_ts) VALUES ('3fd62a6', '6189', 'AMD EPYC', 'NVIDIA H200', 'CUDA', 'q.gguf', 'qwen2 7B Q4_0', '4437780480', '7615616512', '2048', '512', '8', 'f16', 'f16', '99', 'layer', '1', '512', '0', '0', '2026-08-19T01:00:00Z', '55000000', '1', '9309.0', '1.0');
