//! Random lives of a packed file against a vector.

use proptest::prelude::*;

use super::super::{PackedStore, Resources};
use super::basics::{image, memory};
use super::steps::{Step, apply, options, step, tight};
use crate::store::Store;

proptest! {
    #[test]
    fn a_store_is_its_image(steps in prop::collection::vec(step(), 1..40), codec in 0..3usize, little: bool) {
        let file = memory();
        let resources = || if little { tight() } else { Resources::default() };
        let mut store = PackedStore::create(file.clone(), &options(codec), resources()).unwrap();
        store.sync().unwrap();
        let (mut model, mut committed) = (Vec::new(), Vec::new());
        for step in &steps {
            if apply(step, &store, &mut model) {
                committed.clone_from(&model);
                // Somebody else sees what was committed, and nothing is wrong with it.
                let other = PackedStore::open(file.clone(), Resources::default()).unwrap();
                prop_assert_eq!(&image(&other), &committed);
                prop_assert_eq!(other.verify(&mut |_| Ok(())).unwrap(), vec![]);
            }
            if matches!(step, Step::Drop) {
                drop(store);
                model.clone_from(&committed);
                store = PackedStore::open_rw(file.clone(), resources()).unwrap();
            }
        }
        prop_assert_eq!(image(&store), model);
        let used = store.survey().unwrap();
        prop_assert!(used.total.space + used.index <= used.file);
    }
}
