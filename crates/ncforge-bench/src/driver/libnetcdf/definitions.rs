//! Files of many definitions by netCDF-C.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::rc::Rc;

use ncforge::Format;

use super::calls::Calls;
use super::{LibnetcdfDriver, NAME, check};
use crate::driver::definitions::{
    ATTR, DIM, DTYPE, Definitions, GROUP, Held, Inquired, LEN, StepTimes, VAR, named,
};
use crate::driver::steps::Steps;
use crate::error::{Error, Result};

const NC_GLOBAL: c_int = -1;
const NC_NOFILL: c_int = 0x100;
const NC_DOUBLE: c_int = 6;

/// Bytes of a value of each atomic type, by netCDF's numbers; others are not for workloads.
fn size_of(kind: c_int) -> Option<usize> {
    Some(match kind {
        1 | 2 | 7 => 1,
        3 | 8 => 2,
        4 | 5 | 9 => 4,
        6 | 10 | 11 => 8,
        _ => return None,
    })
}

struct Open {
    calls: Rc<Calls>,
    ncid: c_int,
    open: bool,
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.open {
            // SAFETY: an open file that nobody uses again.
            unsafe { (self.calls.abort)(self.ncid) };
        }
    }
}

impl Open {
    fn check(&self, code: c_int, what: &str) -> Result<()> {
        check(&self.calls, code, what)
    }

    fn close(mut self) -> Result<()> {
        self.open = false;
        // SAFETY: an open file, not used again.
        check(&self.calls, unsafe { (self.calls.close)(self.ncid) }, "closing")
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Invalid(format!("`{text}` holds a zero byte")))
}

fn c_path(path: &Path) -> Result<CString> {
    let bytes = path.as_os_str().as_encoded_bytes();
    CString::new(bytes).map_err(|_| Error::Invalid(format!("`{}` holds a zero byte", path.display())))
}

/// Creates the file, definition by definition.
pub(super) fn define(driver: &LibnetcdfDriver, path: &Path, spec: &Definitions) -> Result<StepTimes> {
    let c = &driver.calls;
    let name = c_path(path)?;
    let mode = match spec.format {
        Format::Cdf1 => 0,
        Format::Cdf2 => 0x200,
        Format::Cdf5 => 0x20,
        Format::Netcdf4 => 0x1000,
        Format::Netcdf4Classic => 0x1000 | 0x100,
    };
    let (mut ncid, mut old) = (0, 0);
    let mut steps = Steps::begin();
    // In all calls below: an open file in define mode, strings that end with zero, arrays as long as said, room for one number.
    // SAFETY: see above.
    let code = unsafe { (c.create)(name.as_ptr(), mode, &mut ncid) };
    check(c, code, &format!("cannot create `{}`", path.display()))?;
    let file = Open { calls: Rc::clone(c), ncid, open: true };
    steps.end("create");
    // SAFETY: see above.
    file.check(unsafe { (c.set_fill)(ncid, NC_NOFILL, &mut old) }, "fill mode")?;
    let mut dims = Vec::new();
    for d in 0..spec.dims {
        let (name, mut id) = (c_string(&named::dim(d))?, 0);
        // SAFETY: see above.
        file.check(unsafe { (c.def_dim)(ncid, name.as_ptr(), LEN as usize, &mut id) }, "a dimension")?;
        dims.push(id);
    }
    let mut groups = Vec::new();
    for g in 0..spec.groups {
        let (name, mut id) = (c_string(&named::group(g))?, 0);
        // SAFETY: see above.
        file.check(unsafe { (c.def_grp)(ncid, name.as_ptr(), &mut id) }, "a group")?;
        groups.push(id);
    }
    let attributes = |group: c_int, id: c_int, var: Option<u64>| -> Result<()> {
        for a in 0..spec.attrs {
            let (name, held) = spec.attribute(a, var);
            let name = c_string(&name)?;
            // SAFETY: see above.
            let code = unsafe {
                match &held {
                    Held::Text(t) => (c.put_att_text)(group, id, name.as_ptr(), t.len(), t.as_ptr().cast()),
                    Held::Number(n) => {
                        (c.put_att)(group, id, name.as_ptr(), NC_DOUBLE, 1, (&raw const *n).cast())
                    }
                }
            };
            file.check(code, "an attribute")?;
        }
        Ok(())
    };
    attributes(ncid, NC_GLOBAL, None)?;
    for v in 0..spec.vars {
        let group = spec.group_of(v).map_or(ncid, |g| groups[g as usize]);
        let ids: Vec<c_int> = spec.dims_of(v).into_iter().map(|d| dims[d as usize]).collect();
        let (name, mut id) = (c_string(&named::var(v))?, 0);
        let rank = ids.len() as c_int;
        // SAFETY: see above.
        let code = unsafe { (c.def_var)(group, name.as_ptr(), DTYPE as c_int, rank, ids.as_ptr(), &mut id) };
        file.check(code, "a variable")?;
        attributes(group, id, Some(v))?;
    }
    steps.end("define");
    // SAFETY: see above.
    file.check(unsafe { (c.enddef)(ncid) }, "the end of the definitions")?;
    steps.end("enddef");
    file.close()?;
    steps.end("close");
    Ok(steps.into_times())
}

/// Opens it, and asks for everything in it.
pub(super) fn inquire(driver: &LibnetcdfDriver, path: &Path) -> Result<(StepTimes, Inquired)> {
    let c = &driver.calls;
    let (name, mut ncid) = (c_path(path)?, 0);
    let mut steps = Steps::begin();
    // SAFETY: a string that ends with zero, room for one number.
    check(c, unsafe { (c.open)(name.as_ptr(), 0, &mut ncid) }, &format!("cannot open `{}`", path.display()))?;
    let file = Open { calls: Rc::clone(c), ncid, open: true };
    let mut format = 0;
    // SAFETY: an open file, room for one number.
    file.check(unsafe { (c.inq_format)(ncid, &mut format) }, "format")?;
    steps.end("open");
    let mut found = Inquired::default();
    let mut walk = Walk {
        file: &file,
        found: &mut found,
        groups: super::NC_NETCDF4.contains(&format),
        value: Vec::new(),
    };
    walk.group(ncid, "")?;
    steps.end("inquire");
    file.close()?;
    steps.end("close");
    Ok((steps.into_times(), found))
}

struct Walk<'a> {
    file: &'a Open,
    found: &'a mut Inquired,
    groups: bool,
    /// Room for an attribute.
    value: Vec<u8>,
}

fn bytes(name: &[c_char; NAME]) -> &[u8] {
    // SAFETY: the library ends names with zero, for which there is room.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_bytes()
}

impl Walk<'_> {
    /// As many numbers as the library says, in two calls.
    fn list(&self, what: &str, ask: &dyn Fn(*mut c_int, *mut c_int) -> c_int) -> Result<Vec<c_int>> {
        let mut count = 0;
        self.file.check(ask(&mut count, std::ptr::null_mut()), what)?;
        let mut ids = vec![0; count.max(0) as usize];
        if !ids.is_empty() {
            self.file.check(ask(&mut count, ids.as_mut_ptr()), what)?;
        }
        Ok(ids)
    }

    // In all calls below: an open file, room for the longest name, for one number, or for as many as were counted.
    fn group(&mut self, group: c_int, place: &str) -> Result<()> {
        let c = Rc::clone(&self.file.calls);
        let mut count = 0;
        // SAFETY: see above.
        self.file.check(unsafe { (c.inq_natts)(group, &mut count) }, "attributes")?;
        self.attributes(group, NC_GLOBAL, count, place)?;
        // SAFETY: see above.
        let dims = self.list("dimensions", &|n, ids| unsafe { (c.inq_dimids)(group, n, ids, 0) })?;
        let mut name = [0 as c_char; NAME];
        for dim in dims {
            let mut len = 0usize;
            // SAFETY: see above.
            let code = unsafe { (c.inq_dim)(group, dim, name.as_mut_ptr(), &mut len) };
            self.file.check(code, "a dimension")?;
            self.found.add(DIM, place, bytes(&name), &[&(len as u64).to_le_bytes()]);
        }
        // SAFETY: see above.
        let vars = self.list("variables", &|n, ids| unsafe { (c.inq_varids)(group, n, ids) })?;
        for var in vars {
            let (mut kind, mut rank, mut attrs) = (0, 0, 0);
            let mut dims = [0 as c_int; 1024];
            // SAFETY: see above; a variable has at most 1,024 dimensions (NC_MAX_VAR_DIMS).
            let code = unsafe {
                (c.inq_var)(
                    group,
                    var,
                    name.as_mut_ptr(),
                    &mut kind,
                    &mut rank,
                    dims.as_mut_ptr(),
                    &mut attrs,
                )
            };
            self.file.check(code, "a variable")?;
            let mut held = vec![vec![kind as u8]];
            for &dim in &dims[..rank.clamp(0, 1024) as usize] {
                let mut of = [0 as c_char; NAME];
                let mut len = 0usize;
                // SAFETY: see above.
                let code = unsafe { (c.inq_dim)(group, dim, of.as_mut_ptr(), &mut len) };
                self.file.check(code, "a dimension")?;
                held.push(bytes(&of).to_vec());
            }
            let held: Vec<&[u8]> = held.iter().map(Vec::as_slice).collect();
            self.found.add(VAR, place, bytes(&name), &held);
            let path = format!("{place}/{}", String::from_utf8_lossy(bytes(&name)));
            self.attributes(group, var, attrs, &path)?;
        }
        if !self.groups {
            return Ok(());
        }
        // SAFETY: see above.
        let inner = self.list("groups", &|n, ids| unsafe { (c.inq_grps)(group, n, ids) })?;
        for child in inner {
            // SAFETY: see above.
            self.file.check(unsafe { (c.inq_grpname)(child, name.as_mut_ptr()) }, "a group's name")?;
            let path = format!("{place}/{}", String::from_utf8_lossy(bytes(&name)));
            self.found.add(GROUP, &path, bytes(&name), &[]);
            self.group(child, &path)?;
        }
        Ok(())
    }

    fn attributes(&mut self, group: c_int, var: c_int, count: c_int, place: &str) -> Result<()> {
        let c = Rc::clone(&self.file.calls);
        let mut name = [0 as c_char; NAME];
        for number in 0..count {
            let (mut kind, mut len) = (0, 0usize);
            // SAFETY: see above.
            let code = unsafe { (c.inq_attname)(group, var, number, name.as_mut_ptr()) };
            self.file.check(code, "an attribute's name")?;
            // SAFETY: see above.
            let code = unsafe { (c.inq_att)(group, var, name.as_ptr(), &mut kind, &mut len) };
            self.file.check(code, "an attribute")?;
            let Some(size) = size_of(kind) else { continue };
            self.value.resize(len * size, 0);
            // SAFETY: see above; room for as many values as there are.
            let code = unsafe { (c.get_att)(group, var, name.as_ptr(), self.value.as_mut_ptr().cast()) };
            self.file.check(code, "an attribute's values")?;
            self.found.add(ATTR, place, bytes(&name), &[&[kind as u8], &self.value]);
        }
        Ok(())
    }
}
