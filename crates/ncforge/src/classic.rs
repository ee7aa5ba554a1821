//! CDF-1, CDF-2 and CDF-5 over any store.
