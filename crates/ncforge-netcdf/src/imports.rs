//! Replaces functions that a loaded object imports from other objects: the slots of its global offset table, by the rules of
//! ELF (System V ABI, "Dynamic Linking"; relocation types of the processor supplements).

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::libraries::object_of;

const PT_DYNAMIC: u32 = 2;
const PT_GNU_RELRO: u32 = 0x6474_e552;
const DT_PLTRELSZ: i64 = 2;
const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;

/// `R_*_GLOB_DAT` and `R_*_JUMP_SLOT`: the slot gets the address of a symbol.
const SLOTS: [u64; 2] = if cfg!(target_arch = "x86_64") {
    [6, 7]
} else if cfg!(target_arch = "aarch64") {
    [1025, 1026]
} else {
    [u64::MAX; 2]
};

#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    _addend: i64,
}

/// One imported function.
pub(crate) struct Import {
    slots: Vec<*mut c_void>,
    /// The function that the object calls.
    pub(crate) original: *mut c_void,
}

/// An object's own name, the pages that the loader made read-only, and the slots that were found for each name.
struct Search<'a> {
    object: &'a CStr,
    names: &'a [&'static CStr],
    slots: Vec<Vec<*mut c_void>>,
    read_only: std::ops::Range<usize>,
}

/// The imports of an object, and the addresses that were made read-only. `None` where one of them is not imported: then it is
/// part of the object, or the processor is not known.
pub(crate) fn find(object: &CStr, names: &[&'static CStr]) -> Option<(Vec<Import>, std::ops::Range<usize>)> {
    let mut search = Search { object, names, slots: vec![Vec::new(); names.len()], read_only: 0..0 };
    // SAFETY: `visit` gets the structure that it expects, and does not panic.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    let Search { slots, read_only, .. } = search;
    let own = object.to_string_lossy();
    let imports = slots.into_iter().zip(names).map(|(slots, name)| {
        let &first = slots.first()?;
        // SAFETY: a slot of a loaded object, aligned as the loader needs it.
        let now = unsafe { *first.cast::<*mut c_void>() };
        // A slot that is not bound yet points into the object itself.
        let bound = object_of(now).is_some_and(|o| o != own);
        let original = if bound { now } else { resolve(object, name)? };
        Some(Import { slots, original })
    });
    Some((imports.collect::<Option<Vec<_>>>()?, read_only))
}

/// The function that the loader will bind a name to: of the global scope, then of the object's own.
fn resolve(object: &CStr, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: looks a name up; the object is loaded, and stays loaded.
    unsafe {
        let mut at = libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr());
        if at.is_null() {
            let handle = libc::dlopen(object.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
            if handle.is_null() {
                return None;
            }
            at = libc::dlsym(handle, name.as_ptr());
            libc::dlclose(handle);
        }
        (!at.is_null()).then_some(at)
    }
}

impl Import {
    /// Makes the object call another function from now on.
    ///
    /// # Safety
    /// The function has the signature of the original, and stays where it is.
    pub(crate) unsafe fn replace(&self, by: *const c_void, read_only: &std::ops::Range<usize>) -> bool {
        self.slots.iter().all(|&slot| {
            let page = page_size();
            let first = slot as usize / page * page;
            let protected = read_only.contains(&first);
            let protect = |how| {
                // SAFETY: the page of a slot, which is data of a loaded object.
                !protected || unsafe { libc::mprotect(first as *mut c_void, page, how) == 0 }
            };
            if !protect(libc::PROT_READ | libc::PROT_WRITE) {
                return false;
            }
            // SAFETY: a slot of the table, writable now; other threads read it in one piece.
            unsafe { &*slot.cast::<AtomicPtr<c_void>>() }.store(by.cast_mut(), Ordering::Release);
            protect(libc::PROT_READ)
        })
    }
}

fn page_size() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _: usize, search: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes is valid during the call; `search` is what `find` passed.
    let (info, search) = unsafe { (&*info, &mut *search.cast::<Search<'_>>()) };
    // SAFETY: a name of an object is a C string.
    if info.dlpi_name.is_null() || unsafe { CStr::from_ptr(info.dlpi_name) } != search.object {
        return 0;
    }
    // SAFETY: the program headers of a loaded object.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let base = info.dlpi_addr as usize;
    for header in headers {
        let at = base.wrapping_add(header.p_vaddr as usize);
        match header.p_type {
            PT_GNU_RELRO => {
                let page = page_size();
                // The loader rounds both down.
                search.read_only = at / page * page..(at + header.p_memsz as usize) / page * page;
            }
            // SAFETY: the dynamic section of a loaded object.
            PT_DYNAMIC => unsafe { read_dynamic(at, base, search) },
            _ => {}
        }
    }
    1
}

/// Collects the slots that the relocations of an object name.
///
/// # Safety
/// `at` is the dynamic section of an object that is loaded at `base`.
unsafe fn read_dynamic(at: usize, base: usize, search: &mut Search<'_>) {
    let (mut text, mut symbols) = (0, 0);
    let mut tables = [(0, 0), (0, 0)];
    // Glibc stores addresses here, other loaders what the file has.
    let address = |v: u64| if (v as usize) < base { base + v as usize } else { v as usize };
    let mut entry = at as *const Dynamic;
    // SAFETY: the section ends with an entry of tag 0.
    while let Dynamic { tag, value } = unsafe { &*entry }
        && *tag != 0
    {
        match *tag {
            DT_STRTAB => text = address(*value),
            DT_SYMTAB => symbols = address(*value),
            DT_RELA => tables[0].0 = address(*value),
            DT_RELASZ => tables[0].1 = *value as usize,
            DT_JMPREL => tables[1].0 = address(*value),
            DT_PLTRELSZ => tables[1].1 = *value as usize,
            _ => {}
        }
        // SAFETY: as above.
        entry = unsafe { entry.add(1) };
    }
    if text == 0 || symbols == 0 {
        return;
    }
    for (table, bytes) in tables {
        let n = if table == 0 { 0 } else { bytes / size_of::<Relocation>() };
        for i in 0..n {
            // SAFETY: a relocation inside the table.
            let relocation = unsafe { &*(table as *const Relocation).add(i) };
            if !SLOTS.contains(&(relocation.info & 0xffff_ffff)) {
                continue;
            }
            // SAFETY: its symbol and the symbol's name, by the tables of the object.
            let name = unsafe {
                let symbol = &*(symbols as *const libc::Elf64_Sym).add((relocation.info >> 32) as usize);
                CStr::from_ptr((text as *const std::ffi::c_char).add(symbol.st_name as usize))
            };
            if let Some(which) = search.names.iter().position(|n| *n == name) {
                search.slots[which].push(base.wrapping_add(relocation.offset as usize) as *mut c_void);
            }
        }
    }
}

/// The address of a symbol of an object that is loaded, or null.
pub(crate) fn symbol(object: &CStr, name: &CStr) -> *mut c_void {
    // SAFETY: the object is loaded; nothing of it is run.
    unsafe {
        let handle = libc::dlopen(object.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if handle.is_null() {
            return null_mut();
        }
        let at = libc::dlsym(handle, name.as_ptr());
        libc::dlclose(handle);
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_object_does_not_import_is_not_found() {
        let own = object_of(find as *const c_void).unwrap();
        let own = std::ffi::CString::new(own).unwrap();
        assert!(find(&own, &[c"no_such_function"]).is_none());
        assert!(symbol(c"no such object", c"malloc").is_null());
    }
}
