"""Pages with sliders for a study's parameters, and runs that follow them."""
