//! The few calls of SQLite that rusqlite does not wrap. All `unsafe` of this crate is here.

use std::ffi::{CStr, c_char, c_int, c_uchar};
use std::ptr;

use rusqlite::{Connection, ffi};

use crate::functions;

const UTF8: c_uchar = ffi::SQLITE_UTF8 as c_uchar;

/// Why a file could not be opened.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OpenFailure {
    /// SQLite's extended result code.
    pub(crate) code: c_int,
    /// The system's error number, or 0.
    pub(crate) errno: c_int,
}

/// Opens a connection; unlike rusqlite it tells the system's error number and no path.
pub(crate) fn open(path: &CStr, flags: c_int) -> Result<Connection, OpenFailure> {
    let mut db: *mut ffi::sqlite3 = ptr::null_mut();
    // SAFETY: `path` is a C string and `db` a place for the handle, which SQLite sets also on
    // failure (to null when it is out of memory); `sqlite3_close` takes null.
    unsafe {
        let code = ffi::sqlite3_open_v2(path.as_ptr(), &raw mut db, flags, ptr::null());
        if code != ffi::SQLITE_OK || db.is_null() {
            let errno = if db.is_null() {
                0
            } else {
                ffi::sqlite3_system_errno(db)
            };
            ffi::sqlite3_close(db);
            return Err(OpenFailure { code, errno });
        }
        Connection::from_handle_owned(db).map_err(|_| OpenFailure {
            code: ffi::SQLITE_ERROR,
            errno: 0,
        })
    }
}

/// Bounds the memory that SQLite takes in this process.
pub(crate) fn limit_heap(bytes: i64) {
    // SAFETY: a plain call on SQLite's own global state, guarded by its own mutex.
    unsafe {
        ffi::sqlite3_hard_heap_limit64(bytes);
    }
}

/// Whether this process may write the file or directory, as SQLite itself would ask.
pub(crate) fn is_writable(path: &CStr) -> bool {
    let mut answer: c_int = 0;
    // SAFETY: the default VFS lives as long as the process; `xAccess` takes it, a C string and a
    // place for its answer.
    let code = unsafe {
        let vfs = ffi::sqlite3_vfs_find(ptr::null());
        let Some(access) = vfs.as_ref().and_then(|vfs| vfs.xAccess) else {
            return false;
        };
        access(
            vfs,
            path.as_ptr(),
            ffi::SQLITE_ACCESS_READWRITE,
            &raw mut answer,
        )
    };
    code == ffi::SQLITE_OK && answer != 0
}

/// Forbids loading extensions, in SQL and in C.
pub(crate) fn forbid_extensions(connection: &Connection) -> Result<(), c_int> {
    let mut now: c_int = 0;
    // SAFETY: the handle is open while `connection` is borrowed; this option takes an int and a
    // place for an int.
    let code = unsafe {
        ffi::sqlite3_db_config(
            connection.handle(),
            ffi::SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION,
            0 as c_int,
            &raw mut now,
        )
    };
    if code == ffi::SQLITE_OK && now == 0 {
        Ok(())
    } else {
        Err(code)
    }
}

type Callback =
    unsafe extern "C" fn(*mut ffi::sqlite3_context, c_int, *mut *mut ffi::sqlite3_value);

/// Puts the linear functions of [`functions`] in the place of SQLite's own.
pub(crate) fn register_functions(connection: &Connection) -> Result<(), c_int> {
    let ours: [(&CStr, c_int, Callback); 9] = [
        (c"instr", 2, instr),
        (c"replace", 3, replace),
        (c"trim", 1, trim_both),
        (c"trim", 2, trim_both),
        (c"ltrim", 1, trim_start),
        (c"ltrim", 2, trim_start),
        (c"rtrim", 1, trim_end),
        (c"rtrim", 2, trim_end),
        (c"unhex", 2, unhex),
    ];
    // Innocuous and deterministic as the originals are, so that views, indexes and generated
    // columns of the database keep working.
    let flags = ffi::SQLITE_UTF8 | ffi::SQLITE_DETERMINISTIC | ffi::SQLITE_INNOCUOUS;
    for (name, arguments, callback) in ours {
        // SAFETY: the handle is open while `connection` is borrowed; the callbacks need no data.
        let code = unsafe {
            ffi::sqlite3_create_function_v2(
                connection.handle(),
                name.as_ptr(),
                arguments,
                flags,
                ptr::null_mut(),
                Some(callback),
                None,
                None,
                None,
            )
        };
        if code != ffi::SQLITE_OK {
            return Err(code);
        }
    }
    Ok(())
}

/// A value's text. `None` for null, or when SQLite is out of memory.
///
/// # Safety
/// `value` is an argument of a running callback or a live duplicate, and is not converted again
/// while the slice is used.
unsafe fn text<'a>(value: *mut ffi::sqlite3_value) -> Option<&'a [u8]> {
    // SAFETY: as this function's own contract; the length is asked after the conversion.
    unsafe {
        let start = ffi::sqlite3_value_text(value);
        if start.is_null() {
            return None;
        }
        let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
        Some(std::slice::from_raw_parts(start, length))
    }
}

/// The argument at `index`.
///
/// # Safety
/// `index` is below the number of arguments SQLite passed with `arguments`.
unsafe fn argument(
    arguments: *mut *mut ffi::sqlite3_value,
    index: usize,
) -> *mut ffi::sqlite3_value {
    // SAFETY: as this function's own contract.
    unsafe { *arguments.add(index) }
}

/// A value's bytes, for one that is a blob.
///
/// # Safety
/// As for [`text`].
unsafe fn blob<'a>(value: *mut ffi::sqlite3_value) -> &'a [u8] {
    // SAFETY: as this function's own contract; an empty blob is a null pointer.
    unsafe {
        let start = ffi::sqlite3_value_blob(value).cast::<u8>();
        let length = usize::try_from(ffi::sqlite3_value_bytes(value)).unwrap_or(0);
        if start.is_null() {
            return &[];
        }
        std::slice::from_raw_parts(start, length)
    }
}

unsafe extern "C" fn instr(
    context: *mut ffi::sqlite3_context,
    _count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: registered with two arguments; the duplicates are freed after their last use.
    unsafe {
        let (haystack, needle) = (argument(arguments, 0), argument(arguments, 1));
        let types = (
            ffi::sqlite3_value_type(haystack),
            ffi::sqlite3_value_type(needle),
        );
        if types.0 == ffi::SQLITE_NULL || types.1 == ffi::SQLITE_NULL {
            return;
        }
        let found = match (types.0 == ffi::SQLITE_BLOB, types.1 == ffi::SQLITE_BLOB) {
            (true, true) => Some(functions::instr_bytes(blob(haystack), blob(needle))),
            (false, false) => text(haystack)
                .zip(text(needle))
                .map(|(haystack, needle)| functions::instr_text(haystack, needle)),
            // Reading a blob as text changes the argument in place, so SQLite duplicates it.
            _ => {
                let copies = (
                    ffi::sqlite3_value_dup(haystack),
                    ffi::sqlite3_value_dup(needle),
                );
                let found = text(copies.0)
                    .zip(text(copies.1))
                    .map(|(haystack, needle)| functions::instr_text(haystack, needle));
                ffi::sqlite3_value_free(copies.0);
                ffi::sqlite3_value_free(copies.1);
                found
            }
        };
        match found {
            Some(position) => ffi::sqlite3_result_int64(context, position),
            None => ffi::sqlite3_result_error_nomem(context),
        }
    }
}

unsafe extern "C" fn replace(
    context: *mut ffi::sqlite3_context,
    _count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: registered with three arguments; the buffer has exactly the length that is written,
    // and SQLite takes it over.
    unsafe {
        let (Some(subject), Some(pattern)) =
            (text(argument(arguments, 0)), text(argument(arguments, 1)))
        else {
            return;
        };
        if matches!(pattern.first(), None | Some(0)) {
            answer_text(context, subject);
            return;
        }
        let Some(replacement) = text(argument(arguments, 2)) else {
            return;
        };
        let plan = functions::Replacing::new(subject, pattern, replacement);
        let Some(length) = plan.length().filter(|length| fits(context, *length)) else {
            ffi::sqlite3_result_error_toobig(context);
            return;
        };
        // One byte more, because a length of nothing would be answered with a null pointer.
        let buffer = ffi::sqlite3_malloc64(length as u64 + 1).cast::<u8>();
        if buffer.is_null() {
            ffi::sqlite3_result_error_nomem(context);
            return;
        }
        ptr::write_bytes(buffer, 0, length + 1);
        plan.write(std::slice::from_raw_parts_mut(buffer, length));
        ffi::sqlite3_result_text64(
            context,
            buffer.cast::<c_char>(),
            length as u64,
            Some(ffi::sqlite3_free),
            UTF8,
        );
    }
}

unsafe extern "C" fn unhex(
    context: *mut ffi::sqlite3_context,
    _count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: registered with two arguments; SQLite copies the answer before it returns.
    unsafe {
        let (Some(digits), Some(ignored)) =
            (text(argument(arguments, 0)), text(argument(arguments, 1)))
        else {
            return;
        };
        if let Some(bytes) = functions::unhex(digits, ignored) {
            ffi::sqlite3_result_blob64(
                context,
                bytes.as_ptr().cast(),
                bytes.len() as u64,
                ffi::SQLITE_TRANSIENT(),
            );
        }
    }
}

/// Answers text, of which SQLite makes its own copy.
///
/// # Safety
/// `context` is that of a running callback.
unsafe fn answer_text(context: *mut ffi::sqlite3_context, text: &[u8]) {
    // SAFETY: as this function's own contract; SQLite copies before it returns.
    unsafe {
        ffi::sqlite3_result_text64(
            context,
            text.as_ptr().cast::<c_char>(),
            text.len() as u64,
            ffi::SQLITE_TRANSIENT(),
            UTF8,
        );
    }
}

/// Whether a result of this length is within the connection's limit.
///
/// # Safety
/// `context` is that of a running callback.
unsafe fn fits(context: *mut ffi::sqlite3_context, length: usize) -> bool {
    // SAFETY: as this function's own contract; −1 asks for the limit without changing it.
    let limit = unsafe {
        ffi::sqlite3_limit(
            ffi::sqlite3_context_db_handle(context),
            ffi::SQLITE_LIMIT_LENGTH,
            -1,
        )
    };
    usize::try_from(limit).is_ok_and(|limit| length <= limit)
}

unsafe extern "C" fn trim_both(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: SQLite's own arguments, passed on.
    unsafe { trim(context, count, arguments, true, true) }
}

unsafe extern "C" fn trim_start(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: SQLite's own arguments, passed on.
    unsafe { trim(context, count, arguments, true, false) }
}

unsafe extern "C" fn trim_end(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
) {
    // SAFETY: SQLite's own arguments, passed on.
    unsafe { trim(context, count, arguments, false, true) }
}

/// # Safety
/// `context`, `count` and `arguments` are those of a running callback.
unsafe fn trim(
    context: *mut ffi::sqlite3_context,
    count: c_int,
    arguments: *mut *mut ffi::sqlite3_value,
    start: bool,
    end: bool,
) {
    // SAFETY: as this function's own contract.
    unsafe {
        let Some(subject) = text(argument(arguments, 0)) else {
            return;
        };
        let characters = if count == 1 {
            Some(b" ".as_slice())
        } else {
            text(argument(arguments, 1))
        };
        let Some(characters) = characters else {
            return;
        };
        answer_text(context, functions::trim(subject, characters, start, end));
    }
}
