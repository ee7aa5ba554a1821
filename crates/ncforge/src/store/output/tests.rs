use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::store::ReadStore;

fn names(dir: &tempfile::TempDir) -> usize {
    std::fs::read_dir(dir.path()).unwrap().count()
}

fn resumed(path: &Path) -> OutputFile {
    let options = OutputOptions { overwrite: true, resume: true, ..OutputOptions::default() };
    OutputFile::begin(path, options).unwrap()
}

#[test]
fn only_complete_files_get_their_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    {
        let output = OutputFile::create(&path, false).unwrap();
        output.store().write_at(b"half", 0).unwrap();
        let second = OutputFile::create(&path, true).unwrap_err();
        assert!(matches!(second, Error::Locked { .. }), "two writers of one file: {second}");
    }
    assert_eq!(names(&dir), 0, "a dropped file is removed");
    let output = OutputFile::create(&path, false).unwrap();
    output.store().write_at(b"whole", 0).unwrap();
    output.commit(false).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    assert!(matches!(OutputFile::create(&path, false), Err(Error::Exists(_))));
    let mut output = OutputFile::create(&path, true).unwrap();
    output.store().write_at(b"later", 0).unwrap();
    output.journal().unwrap();
    output.keep(true);
    drop(output);
    assert_eq!(std::fs::read(&path).unwrap(), b"whole");
    let mut output = resumed(&path);
    assert!(output.was_there());
    assert_eq!(output.store().read_vec(0, 5).unwrap(), b"later");
    output.journal().unwrap();
    output.commit(true).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"later");
    assert_eq!(names(&dir), 1);
}

#[test]
fn what_was_left_is_gone_on_with_or_removed_with_its_notes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let leave = || {
        let mut output = OutputFile::create(&path, false).unwrap();
        output.store().write_at(b"left", 0).unwrap();
        output.journal().unwrap();
        output.keep(true);
    };
    leave();
    drop(resumed(&path));
    assert_eq!(names(&dir), 2, "who finds that it cannot go on leaves all as it was");
    resumed(&path).abandon();
    assert_eq!(names(&dir), 0);
    leave();
    let output = OutputFile::create(&path, false).unwrap();
    assert!(output.store().is_empty() && !output.was_there());
    assert_eq!(names(&dir), 1, "the notes speak of another file");
}

#[test]
fn a_destination_made_meanwhile_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let output = OutputFile::create(&path, false).unwrap();
    output.store().write_at(b"ours", 0).unwrap();
    std::fs::write(&path, b"theirs").unwrap();
    let error = output.commit(true).unwrap_err();
    assert!(matches!(error, Error::Appeared { .. }) && error.to_string().contains(".a.nc.ncforge-partial"));
    assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    assert_eq!(std::fs::read(partial_path(&path)).unwrap(), b"ours");
}

#[test]
fn permissions_are_the_old_files() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o7777;
    for kept in [0o600, 0o664, 0o444] {
        std::fs::write(&path, b"old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(kept)).unwrap();
        let output = OutputFile::create(&path, true).unwrap();
        assert_eq!(mode(output.partial()), kept | 0o600, "not to be read by others before");
        output.commit(false).unwrap();
        assert_eq!(mode(&path), kept);
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn nobody_writes_to_what_will_be_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    std::fs::write(&path, b"old").unwrap();
    let writer = FileStore::open_rw(&path).unwrap();
    writer.lock(Kind::Exclusive, Locking::BestEffort).unwrap();
    assert!(matches!(OutputFile::create(&path, true), Err(Error::Locked { .. })));
    writer.unlock();
    let output = OutputFile::create(&path, true).unwrap();
    assert!(writer.lock(Kind::Exclusive, Locking::BestEffort).is_err());
    output.commit(false).unwrap();
    assert!(writer.lock(Kind::Exclusive, Locking::BestEffort).is_ok(), "the old file is free");
}

#[test]
fn without_locks_nobody_loses_what_he_wrote_unseen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.nc");
    let options = OutputOptions { locking: Locking::Never, ..OutputOptions::default() };
    let first = OutputFile::begin(&path, options).unwrap();
    first.store().write_at(b"first", 0).unwrap();
    let second = OutputFile::begin(&path, options).unwrap();
    second.store().write_at(b"second", 0).unwrap();
    assert!(matches!(first.commit(false), Err(Error::Locked { .. })));
    second.commit(false).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"second");
    assert_eq!(names(&dir), 1);
}

#[test]
fn links_stay_and_only_regular_files_are_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (file, link) = (dir.path().join("a.html"), dir.path().join("b.html"));
    OutputFile::write_whole(&file, b"one", false).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    OutputFile::write_whole(&link, b"two", true).unwrap();
    assert!(link.is_symlink());
    assert_eq!(std::fs::read(&file).unwrap(), b"two");
    assert!(OutputFile::create(dir.path(), true).is_err());
    assert!(OutputFile::create(Path::new("/dev/null"), true).is_err());
    OutputFile::write_whole(Path::new("/dev/null"), b"three", false).unwrap();
    assert!(OutputFile::write_whole(&dir.path().join("no/x"), b"", false).is_err());
    assert_eq!(names(&dir), 2);
}
