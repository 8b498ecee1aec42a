"""The commands of `kdiag`: a folder each."""
