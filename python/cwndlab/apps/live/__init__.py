"""Pages that run the engine as WebAssembly."""
