//! Work on whole files, each on the engine.
