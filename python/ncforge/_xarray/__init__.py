"""The implementation of xarray's engine "ncforge". Loaded when the engine is used, not when xarray searches for engines."""
