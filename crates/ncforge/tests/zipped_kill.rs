//! A program that writes to a zipped file is killed, two hundred times, at random moments: the file is in the state of
//! the last commit that was reported, or of the one that was going on.
//!
//! The program is this one: started again, it runs [`the_writer`], which does nothing in an ordinary run.

mod random;

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, VarId, Variable};
use ncforge::store::FileStore;
use ncforge::store::zipped::{Resources, ZippedStore};
use ncforge::{CreateOptions, Dataset, DatasetMut, Hyperslab};

use random::Random;

const KILLS: usize = 200;
/// Where the program that is killed finds its file.
const PATH: &str = "NCFORGE_TEST_KILL_PATH";
/// Records and variables at most, so that the test stays quick.
const RECORDS: u64 = 3000;
const VARS: usize = 12;

fn make(path: &Path) {
    let mut s = Schema::new(Format::Cdf5);
    s.dims = vec![Dimension::new("time", 0, true), Dimension::new("x", 5000, false)];
    s.vars.push(Variable::new("fixed", Atomic::Int, vec![DimId(1)]));
    s.vars.push(Variable::new("a", Atomic::Int, vec![DimId(0)]));
    s.vars.push(Variable::new("b", Atomic::Int, vec![DimId(0)]));
    let zipped = Some(ncforge::store::zipped::Options { block: 4096, ..Default::default() });
    let mut new = DatasetMut::create(path, s, CreateOptions { zipped, ..CreateOptions::default() }).unwrap();
    new.grow(DimId(0), 500).unwrap();
    write_all(&mut new, 0);
    new.close().unwrap();
}

/// Gives every value of every variable the number `n`.
fn write_all(data: &mut DatasetMut, n: i32) {
    let vars: Vec<VarId> = data.schema().var_ids().collect();
    for v in vars {
        let shape = data.schema().shape(v);
        let values: Vec<u8> = (0..shape[0]).flat_map(|_| n.to_ne_bytes()).collect();
        data.write_bytes(v, &Hyperslab::all(&shape), &values).unwrap();
    }
}

/// The attribute that tells the number, too.
fn commit(n: i32) -> Attribute {
    Attribute::text("commit", &format!("{n:>5}"))
}

/// The number that every value has; a panic when they are not one.
fn state(path: &Path) -> i32 {
    let data = Dataset::open(path).unwrap();
    let mut found: Option<i32> = None;
    for v in data.schema().var_ids() {
        let values = data.read_all(v).unwrap();
        for value in values.bytes().unwrap().chunks_exact(4) {
            let value = i32::from_ne_bytes(value.try_into().unwrap());
            let first = *found.get_or_insert(value);
            assert_eq!(first, value, "half a commit, in `{}`", data.schema().var_path(v));
        }
    }
    let title = data.schema().groups[0].attrs.iter().find(|a| a.name == "commit");
    let found = found.unwrap();
    if let Some(title) = title {
        assert_eq!(*title, commit(found));
    }
    found
}

/// Commits numbers, one after the other, and tells each: overwrites, appends, adds attributes and variables.
#[test]
fn the_writer() {
    let Some(path) = std::env::var_os(PATH) else { return };
    let path = Path::new(&path);
    let from = state(path) + 1;
    let mut data = DatasetMut::open(path).unwrap();
    for n in from.. {
        let mut schema = data.schema().clone();
        schema.groups[0].attrs.retain(|a| a.name != "commit");
        schema.groups[0].attrs.push(commit(n));
        if n % 50 == 3 && schema.vars.len() < VARS {
            let dims = if n % 100 == 3 { vec![DimId(0)] } else { vec![DimId(1)] };
            schema.vars.push(Variable::new(format!("v{n}"), Atomic::Int, dims));
        }
        data.redefine(schema).unwrap();
        let records = data.schema().dims[0].len;
        if n % 3 == 0 && records < RECORDS {
            data.grow(DimId(0), records + 7).unwrap();
        }
        write_all(&mut data, n);
        data.sync().unwrap();
        println!("committed {n}");
    }
}

#[test]
fn a_writer_that_is_killed_leaves_a_commit() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.ncz");
    make(&path);
    let mut random = Random(0x2545_F491_4F6C_DD1D);
    let mut last = 0;
    for kill in 0..KILLS {
        let moment = Duration::from_micros(random.below(25_000));
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["the_writer", "--exact", "--nocapture", "--test-threads=1"])
            .env(PATH, &path)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let number =
            |line: String| line.split("committed ").nth(1).and_then(|n| n.trim().parse::<i32>().ok());
        let mut reported = lines.by_ref().find_map(|line| number(line.ok()?));
        assert!(reported.is_some(), "the writer does not write, after {kill} kills");
        std::thread::sleep(moment);
        child.kill().unwrap();
        child.wait().unwrap();
        // The child's output before it died.
        for line in lines.map_while(Result::ok) {
            reported = number(line).or(reported);
        }
        let now = state(&path);
        let reported = reported.unwrap();
        assert!(
            now == reported || now == reported + 1,
            "kill {kill}: {now} is there, {reported} was reported"
        );
        assert!(now > last);
        last = now;
    }
    let store = ZippedStore::open(Arc::new(FileStore::open(&path).unwrap()), Resources::default()).unwrap();
    let damage = store.verify(&mut |_| Ok(())).unwrap();
    assert!(damage.iter().all(|d| d.image.is_none()), "{damage:?}");
    assert!(last as usize > KILLS);
}
