//! Moves bytes: plan, fetch, decode, scatter; gather, encode, place.
