"""Where attention comes from, up to scaled dot-product attention and masks."""
