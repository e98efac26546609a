"""How many warps of a multiprocessor's can a kernel keep active, what limits them, and what would help?

`blocks` is NVIDIA's calculation, for any number of configurations at once; the rest asks it: `numbers` and
`kernels` for the occupancy of bare numbers and of compiled kernels (`rows` makes results of both), `suggest`
and `block_size` for the best block size, `step` for what the next step up takes, `curves` for what lies
around a configuration, and `latency` whether the active warps hide what a load costs.
"""
