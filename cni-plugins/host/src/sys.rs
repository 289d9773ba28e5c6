//! The process, its descriptors and its surroundings: Linux system calls, each with its errno and its name.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::time::Instant;

/// A failed call: which one and on what, and the kernel's errno.
#[derive(Debug)]
pub struct Failure {
    pub call: String,
    pub errno: i32,
}

pub type Outcome<T> = Result<T, Failure>;

const PAGE_BYTES: usize = 4096;

pub(crate) fn failure(call: impl Into<String>, error: &Error) -> Failure {
    Failure { call: call.into(), errno: error.raw_os_error().unwrap_or(libc::EIO) }
}

pub(crate) fn last(call: impl Into<String>) -> Failure {
    failure(call, &Error::last_os_error())
}

pub(crate) fn check(result: i32, call: &str) -> Outcome<i32> {
    if result < 0 { Err(last(call)) } else { Ok(result) }
}

/// What of Rust's own start a plugin needs. A standard descriptor that is closed gets /dev/null, so that no socket takes
/// its number; a reader that went away is an error of the write, not the end of the process.
pub fn prepare_process() {
    let mut standard = [0, 1, 2].map(|fd| libc::pollfd { fd, events: 0, revents: 0 });
    // SAFETY: the pointers and the length describe `standard`, and the path ends in a nul.
    unsafe {
        libc::poll(standard.as_mut_ptr(), standard.len() as libc::nfds_t, 0);
        for _ in standard.iter().filter(|one| one.revents & libc::POLLNVAL != 0) {
            libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        }
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
    }
}

/// Ends the process at once: nothing needs to be freed or flushed.
pub fn exit(code: i32) -> ! {
    // SAFETY: takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// Has the next memory of the heap there before it is used. A kernel before 5.14 gives it page by page all the same.
pub fn populate_heap(bytes: usize) {
    // SAFETY: the advised pages are within the block, or the advice is refused.
    unsafe {
        // The block is of the heap, not a mapping of its own, and stays there when it is given back.
        libc::mallopt(libc::M_MMAP_THRESHOLD, 4 * bytes as i32);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        let block = libc::malloc(bytes);
        let start = (block as usize).next_multiple_of(PAGE_BYTES);
        let whole = bytes - PAGE_BYTES;
        libc::madvise(start as *mut _, whole - whole % PAGE_BYTES, libc::MADV_POPULATE_WRITE);
        libc::free(block);
    }
}

/// The end to read, then the one to write.
pub(crate) fn pipe() -> Outcome<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: the pointer describes room for both; the new descriptors are owned from here on.
    unsafe {
        check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC), "pipe")?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}

pub fn close(fd: i32) {
    // SAFETY: the caller got the descriptor from this module and gives it up here.
    unsafe { libc::close(fd) };
}

pub fn write_all(fd: i32, bytes: &[u8]) -> Outcome<()> {
    // SAFETY: the descriptor stays open: ManuallyDrop keeps File from closing what it does not own.
    let mut file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    file.write_all(bytes).map_err(|error| failure("write", &error))
}

pub fn read(fd: i32, buffer: &mut [u8]) -> Outcome<usize> {
    // SAFETY: as in `write_all`.
    let mut file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    file.read(buffer).map_err(|error| failure("read", &error))
}

/// All of stdin as text. More than `limit` bytes is EFBIG, bytes that are no UTF-8 are EILSEQ.
pub fn read_stdin(limit: u64) -> Outcome<String> {
    let mut bytes = Vec::with_capacity(4096);
    std::io::stdin().lock().take(limit + 1).read_to_end(&mut bytes).map_err(|error| failure("read stdin", &error))?;
    if bytes.len() as u64 > limit {
        return Err(Failure { call: "read stdin".into(), errno: libc::EFBIG });
    }
    String::from_utf8(bytes).map_err(|_| Failure { call: "read stdin".into(), errno: libc::EILSEQ })
}

/// Waits until a descriptor has something to read or was hung up. The `poll` event bits, one for each descriptor.
pub fn poll(fds: &[i32], timeout_ms: i32) -> Outcome<Vec<i32>> {
    let wanted: Vec<_> = fds.iter().map(|&fd| (fd, libc::POLLIN)).collect();
    poll_for(&wanted, timeout_ms)
}

/// Waits for one of the events of a descriptor; of a negative one there are none.
pub(crate) fn poll_for(wanted: &[(i32, i16)], timeout_ms: i32) -> Outcome<Vec<i32>> {
    let mut polled: Vec<_> = wanted.iter().map(|&(fd, events)| libc::pollfd { fd, events, revents: 0 }).collect();
    // SAFETY: the pointer and the length describe `polled`.
    let result = unsafe { libc::poll(polled.as_mut_ptr(), polled.len() as libc::nfds_t, timeout_ms) };
    if result < 0 && Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
        return Err(last("poll"));
    }
    Ok(polled.iter().map(|fd| i32::from(fd.revents)).collect())
}

pub fn random(buffer: &mut [u8]) -> Outcome<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        let rest = &mut buffer[filled..];
        // SAFETY: the pointer and the length describe `rest`.
        let got = unsafe { libc::getrandom(rest.as_mut_ptr().cast(), rest.len(), 0) };
        filled += usize::try_from(got).map_err(|_| last("getrandom"))?;
    }
    Ok(())
}

pub fn monotonic_ms(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

/// The command line without the program's name.
pub fn args() -> Vec<String> {
    std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect()
}

pub fn env(name: &str) -> Option<String> {
    let name = CString::new(name).ok()?;
    // SAFETY: the name ends in a nul; the environment is never changed, so what getenv returns stays valid.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: as above.
    (!value.is_null()).then(|| unsafe { std::ffi::CStr::from_ptr(value) }.to_string_lossy().into_owned())
}

/// Who sends to the first waits until the second was read from.
#[cfg(test)]
pub(crate) fn full_datagrams() -> (std::os::unix::net::UnixDatagram, std::os::unix::net::UnixDatagram) {
    let (ours, theirs) = std::os::unix::net::UnixDatagram::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    while ours.send(b"full").is_ok() {}
    ours.set_nonblocking(false).unwrap();
    (ours, theirs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_bytes_differ() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        random(&mut a).unwrap();
        random(&mut b).unwrap();
        assert_ne!(a, b);
    }
}
