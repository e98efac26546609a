"""cudamm: learn, teach and measure CUDA matrix multiplication."""

__version__ = "0.1.0"
