"""Wrong versions of what the chapters on kernels build."""
