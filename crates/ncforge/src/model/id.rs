//! The ids of objects: their positions in the arenas of a [`Schema`](super::Schema).

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub usize);
    };
}
id!(/// Position of a dimension in [`Schema::dims`](super::Schema::dims).
    DimId);
id!(/// Position of a variable in [`Schema::vars`](super::Schema::vars).
    VarId);
id!(/// Position of a group in [`Schema::groups`](super::Schema::groups); 0 is the root.
    GroupId);
id!(/// Position of a user-defined type in [`Schema::types`](super::Schema::types).
    TypeId);
