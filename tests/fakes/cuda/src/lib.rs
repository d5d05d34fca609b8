//! A stand-in libcuda.so.1, for tests.
