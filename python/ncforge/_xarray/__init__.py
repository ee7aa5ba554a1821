"""What the engine "ncforge" of xarray is made of. Loaded when the engine is used, not when xarray looks for engines."""
