use super::*;

#[test]
fn messages_name_file_and_byte() {
    let e = Error::corrupt("a.nc", 12, "tag 7 where a dimension list (10) belongs");
    assert_eq!(e.to_string(), "`a.nc` is damaged at byte 12: tag 7 where a dimension list (10) belongs");
    assert_eq!(e.kind(), ErrorKind::Input);
}

#[test]
fn selections_say_what_runs_where() {
    let of = |stride| Error::Selection { variable: "v".into(), dim: 1, start: 2, count: 9, stride, len: 10 };
    let past = "`v`: start 2, count 9, stride 1 on dimension 1 runs past its length 10";
    assert_eq!(of(1).to_string(), past);
    assert_eq!(of(0).to_string(), "stride 0 on dimension 1 of `v`");
}

#[test]
fn a_defect_is_no_fault_of_the_command_line() {
    let defect = Error::Internal("index out of bounds".into());
    assert_eq!(defect.kind(), ErrorKind::Failed);
    assert_eq!(Error::Closed.kind(), ErrorKind::Request);
}

#[test]
fn names_in_use_say_of_what_kind_the_other_is() {
    let of = |holder| Error::NameInUse { kind: "variable", name: "x".into(), holder, group: "/a".into() };
    assert_eq!(of("variable").to_string(), "there is a variable `x` already");
    let other = "there is a group `x` in `/a` already: a variable cannot have its name";
    assert_eq!(of("group").to_string(), other);
}

#[test]
fn what_the_system_refuses_is_told_apart_by_the_operation() {
    let kind = |op: Op, number: i32, path: &str| {
        Error::io(op, path, std::io::Error::from_raw_os_error(number)).kind()
    };
    let part = Op::ReadPart { place: "variable `v`".into(), op: Box::new(Op::List) };
    for op in [Op::Open, Op::Update, Op::Read, Op::ReadAt { len: 1, offset: 2 }, part] {
        assert_eq!(kind(op.clone(), libc::EIO, "a.nc"), ErrorKind::Input, "{op}");
        assert_eq!(kind(op, libc::EMFILE, "a.nc"), ErrorKind::Failed, "too many files are open");
    }
    assert_eq!(kind(Op::Create, libc::ENOENT, "no/a.nc"), ErrorKind::Request);
    assert_eq!(kind(Op::Create, libc::ENOSPC, "a.nc"), ErrorKind::Failed);
    assert_eq!(kind(Op::Write, libc::ENOENT, "a.nc"), ErrorKind::Failed);
    assert_eq!(kind(Op::Write, libc::ENOENT, "s3://no/a.nc"), ErrorKind::Input, "no such bucket");
}
