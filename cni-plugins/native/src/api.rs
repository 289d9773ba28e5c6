//! The global object `syscalls`, through which JavaScript makes system calls. `syscalls.ts` is its type.

use crate::exec;
use crate::expression;
use crate::files;
use crate::netlink;
use crate::netns;
use crate::reports;
use crate::sys::{self, Failure, Outcome};
use rquickjs::{Ctx, Exception, Function, Object, Result, TypedArray, Value, function::IntoJsFunc};
use sha2::{Digest, Sha512};
use std::fmt::Write;
use std::time::Instant;

pub fn install(ctx: &Ctx<'_>) -> Result<()> {
    let start = Instant::now();
    let syscalls = Object::new(ctx.clone())?;
    method(&syscalls, "args", sys::args)?;
    method(&syscalls, "env", |name: String| sys::env(&name))?;
    method(&syscalls, "readStdin", |ctx: Ctx<'_>, limit: f64| throwing(&ctx, sys::read_stdin(limit as u64)))?;
    method(&syscalls, "read", |ctx: Ctx<'_>, fd: i32, mut buffer: TypedArray<'_, u8>| {
        throwing(&ctx, sys::read(fd, bytes_mut(&mut buffer)).map(|length| length as f64))
    })?;
    method(&syscalls, "write", |ctx: Ctx<'_>, fd: i32, text: String| throwing(&ctx, write(fd, &text)))?;
    method(&syscalls, "exit", |code: i32| -> () { sys::exit(code) })?;
    method(&syscalls, "random", |ctx: Ctx<'_>, mut buffer: TypedArray<'_, u8>| {
        throwing(&ctx, sys::random(bytes_mut(&mut buffer)))
    })?;
    method(&syscalls, "sha512", |text: String| hexadecimal(&Sha512::digest(text.as_bytes())))?;
    method(&syscalls, "monotonicMs", move || sys::monotonic_ms(start))?;
    method(&syscalls, "openNetns", |ctx: Ctx<'_>, path: String| throwing(&ctx, netns::open_netns(&path)))?;
    method(&syscalls, "isOwnNetns", |ctx: Ctx<'_>, fd: i32| throwing(&ctx, netns::is_own_netns(fd)))?;
    method(&syscalls, "close", sys::close)?;
    method(&syscalls, "poll", |ctx: Ctx<'_>, fds: Vec<i32>, timeout_ms: i32| {
        throwing(&ctx, sys::poll(&fds, timeout_ms))
    })?;
    install_files(&syscalls)?;
    netlink::install(&syscalls)?;
    exec::install(&syscalls)?;
    expression::install(&syscalls)?;
    reports::install(&syscalls)?;
    ctx.globals().set("syscalls", syscalls)
}

/// Text that stderr does not take at once is lost: a warning that nobody reads must not delay a call or make it fail.
fn write(fd: i32, text: &str) -> Outcome<()> {
    if fd != libc::STDERR_FILENO {
        return sys::write_all(fd, text.as_bytes());
    }
    let _ = sys::write_at_once(fd, text.as_bytes());
    Ok(())
}

fn install_files(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "readFile", |ctx: Ctx<'_>, netns: i32, path: String| {
        throwing(&ctx, files::read_file(netns, &path))
    })?;
    method(syscalls, "exists", |path: String| std::fs::metadata(path).is_ok())?;
    method(syscalls, "writeFile", |ctx: Ctx<'_>, netns: i32, path: String, text: String| {
        throwing(&ctx, files::write_file(netns, &path, &text))
    })?;
    method(syscalls, "replaceFile", |ctx: Ctx<'_>, path: String, text: String| {
        throwing(&ctx, files::replace_file(&path, &text))
    })?;
    method(syscalls, "removeFile", |ctx: Ctx<'_>, path: String| throwing(&ctx, files::remove_file(&path)))?;
    method(syscalls, "listDirectory", |ctx: Ctx<'_>, path: String| throwing(&ctx, files::list_directory(&path)))
}

pub(crate) fn method<'js, P, F: IntoJsFunc<'js, P> + 'js>(object: &Object<'js>, name: &str, function: F) -> Result<()> {
    object.set(name, Function::new(object.ctx().clone(), function)?)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Throws a failure as an Error with `syscall` and `errno`.
pub(crate) fn throwing<T>(ctx: &Ctx<'_>, outcome: Outcome<T>) -> Result<T> {
    outcome.map_err(|failure| match error_object(ctx, &failure) {
        Ok(value) => ctx.throw(value),
        Err(error) => error,
    })
}

fn error_object<'js>(ctx: &Ctx<'js>, failure: &Failure) -> Result<Value<'js>> {
    let error = Exception::from_message(ctx.clone(), &format!("{} failed", failure.call))?.into_object();
    error.set("syscall", failure.call.as_str())?;
    error.set("errno", failure.errno)?;
    Ok(error.into_value())
}

/// The bytes of a Uint8Array; none when it is detached. rquickjs shows them safely to read alone.
pub(crate) fn bytes_mut<'a>(array: &'a mut TypedArray<'_, u8>) -> &'a mut [u8] {
    match array.as_raw() {
        // SAFETY: QuickJS runs on this thread alone and no script runs until the native call is over.
        Some(raw) => unsafe { std::slice::from_raw_parts_mut(raw.cast::<u8>().as_ptr(), raw.len()) },
        None => &mut [],
    }
}
