use super::*;

#[test]
fn messages_name_file_and_byte() {
    let e = Error::corrupt("a.nc", 12, "tag 7 where a dimension list (10) belongs");
    assert_eq!(e.to_string(), "`a.nc` is damaged at byte 12: tag 7 where a dimension list (10) belongs");
    assert_eq!(e.exit_code(), 4);
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
    assert_eq!((defect.is_usage(), defect.exit_code()), (false, 1));
    assert_eq!(Error::Closed.exit_code(), 2);
}

#[test]
fn names_in_use_say_of_what_kind_the_other_is() {
    let of = |holder| Error::NameInUse { kind: "variable", name: "x".into(), holder, group: "/a".into() };
    assert_eq!(of("variable").to_string(), "there is a variable `x` already");
    let other = "there is a group `x` in `/a` already: a variable cannot have its name";
    assert_eq!(of("group").to_string(), other);
}
