"""Whether what was measured twice differs by more than noise.

noise    the tests: of blocks of time, because what follows each other in a capture is alike
"""
