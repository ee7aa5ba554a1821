//! Choosing: how an array is cut into chunks, so that the reads that people do are fast, without their being asked.
//!
//! The input is the description of the array ([`Axis`], element size, [`Coding`]), of the reads ([`Access`], or nothing) and of the machine
//! ([`Machine`]); the output is a chunk shape and, for each kind of read, its predicted cost and that of the best shape for it alone
//! ([`Choice`]). No file is touched here.
//!
//! The way to the answer:
//!
//! 1. Each access becomes a box of counts ([`pattern`]): dimensions are recognised by the CF conventions ([`axes`]).
//! 2. The price of reading such a box at a random place is counted exactly from the chunk grid ([`cost`]).
//! 3. Shapes all over the array are priced, of lengths that leave no overhang; from the best of them, and from those of every
//!    access alone, the way goes down to the least price ([`search`]).
//! 4. Each access is weighed by its own best price, so that none is sacrificed unasked ([`choose()`]).
//!
//! [`keep`] says how large a chunk cache such reads need, [`Stored`] which blocks of stored chunks suit Dask. [`rates`] has how fast
//! machines and codecs are: what predictions rest on. [`vocabulary`] and [`words`] are what users write and read.
//!
//! ```
//! use ncforge::codec::filters::{deflate, shuffle};
//! use ncforge_tune::{Access, Axis, Coding, Machine, Request, Role, choose};
//! // Twenty years of daily maps, float, deflated.
//! let axes = [
//!     Axis::new("time", 7305, Role::Time).unlimited(),
//!     Axis::new("lat", 181, Role::Y),
//!     Axis::new("lon", 360, Role::X),
//! ];
//! let machine = Machine::default();
//! let request = Request::new(&axes, 4, Coding::written(&[shuffle(4), deflate(4)]), &machine);
//! let choice = choose(&request)?;
//! // A series and a map both decode less than a fiftieth of the array.
//! let all = 7305.0 * 181.0 * 360.0 * 4.0;
//! assert!(choice.predictions[..2].iter().all(|read| read.chosen.decoded < all / 50.0));
//! let request = Request { accesses: Access::parse("series", &["time", "lat", "lon"])?, ..request };
//! assert!(choose(&request)?.chunks[0] > choice.chunks[0]);
//! # Ok::<(), ncforge::Error>(())
//! ```

pub mod axes;
pub mod choose;
pub mod codec;
pub mod coding;
pub mod cost;
pub mod keep;
pub mod pattern;
pub mod rates;
pub mod search;
mod slower;
mod tasks;
pub mod vocabulary;
pub mod words;

pub use axes::{Axis, Role, Roles, axes_along, axes_of};
pub use choose::{Choice, Contender, Contest, Depth, Limits, Prediction, Request, choose};
pub use coding::Coding;
pub use cost::{Cost, Grid, touched};
pub use keep::{CacheAdvice, Row};
pub use pattern::{Access, Extent, Kind, Pattern};
pub use rates::{Calibration, Machine, StorageKind};
pub use slower::Slower;
pub use tasks::Stored;
