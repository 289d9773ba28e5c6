//! The process, its descriptors and its environment. A system call that fails is reported by its name and its errno.

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Write};
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, IntoRawFd};
use std::time::{Duration, Instant};

/// A failed call: its name, with the path if there is one, and the kernel's errno.
#[derive(Debug)]
pub struct Failure {
    pub call: String,
    pub errno: i32,
}

pub type Outcome<T> = Result<T, Failure>;

/// A pipe that is ready takes this much without waiting for its reader (PIPE_BUF).
const PIPE_PIECE_BYTES: usize = 4096;

pub(crate) fn failure(call: impl Into<String>, error: &Error) -> Failure {
    Failure { call: call.into(), errno: error.raw_os_error().unwrap_or(libc::EIO) }
}

pub(crate) fn failed(call: &str) -> impl FnOnce(Errno) -> Failure {
    move |errno| Failure { call: call.into(), errno: errno.raw_os_error() }
}

/// The part of Rust's own start that a plugin needs. A closed standard descriptor gets /dev/null, so that no socket takes
/// its number. SIGCHLD is no longer ignored, so that the plugin can wait for the programs that it starts. SIGPIPE and
/// SIGXFSZ are ignored: a reader that went away or a file that may not grow makes the write fail.
pub fn prepare_process() {
    let standard = poll_for(0, &[0, 1, 2], 0).unwrap_or_default();
    for _ in standard.iter().filter(|events| *events & i32::from(libc::POLLNVAL) != 0) {
        let _ = open(c"/dev/null", OFlags::RDWR, Mode::empty()).map(IntoRawFd::into_raw_fd);
    }
    // SAFETY: no handler is a function of this program. Neither std nor rustix has a safe call for this.
    unsafe {
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
        libc::signal(libc::SIGPIPE, libc::SIG_IGN);
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
    }
}

/// Ends the process at once. Nothing needs to be freed or flushed, and the handlers that `std::process::exit` runs would
/// map pages that no call needs.
pub fn exit(code: i32) -> ! {
    // SAFETY: takes no pointer and does not return.
    unsafe { libc::_exit(code) }
}

/// JavaScript gives the number up.
pub fn close(fd: i32) {
    drop(ManuallyDrop::into_inner(borrowed(fd)));
}

/// A descriptor, which JavaScript knows by its number, as a file that stays open.
pub(crate) fn borrowed(fd: i32) -> ManuallyDrop<File> {
    // SAFETY: ManuallyDrop keeps File from closing what it does not own, and the kernel refuses a number that is not open.
    ManuallyDrop::new(unsafe { File::from_raw_fd(fd) })
}

/// Waits for room, also when the descriptor is non-blocking.
pub fn write_all(fd: i32, bytes: &[u8]) -> Outcome<()> {
    let mut written = 0;
    while written < bytes.len() {
        match when_ready(fd, libc::POLLOUT, || borrowed(fd).write(&bytes[written..])) {
            Ok(0) => return Err(Failure { call: "write".into(), errno: libc::EIO }),
            Ok(length) => written += length,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failure("write", &error)),
        }
    }
    Ok(())
}

/// Never waits for a reader. Returns how many of the bytes there was room for.
pub fn write_at_once(fd: i32, bytes: &[u8]) -> Outcome<usize> {
    let mut written = 0;
    for piece in bytes.chunks(PIPE_PIECE_BYTES) {
        if poll_for(libc::POLLOUT, &[fd], 0)?[0] & i32::from(libc::POLLOUT) == 0 {
            break;
        }
        borrowed(fd).write_all(piece).map_err(|error| failure("write", &error))?;
        written += piece.len();
    }
    Ok(written)
}

pub fn read(fd: i32, buffer: &mut [u8]) -> Outcome<usize> {
    borrowed(fd).read(buffer).map_err(|error| failure("read", &error))
}

/// Tries again once the descriptor is ready, if it was not.
fn when_ready<T>(fd: i32, events: i16, mut action: impl FnMut() -> std::io::Result<T>) -> std::io::Result<T> {
    loop {
        match action() {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                poll_for(events, &[fd], -1).map_err(|failure| Error::from_raw_os_error(failure.errno))?;
            }
            outcome => return outcome,
        }
    }
}

/// Stdin, whose reads wait for input, also when the descriptor is non-blocking.
struct Stdin;

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        when_ready(libc::STDIN_FILENO, libc::POLLIN, || borrowed(libc::STDIN_FILENO).read(buffer))
    }
}

/// All of stdin as text. More than `limit` bytes is EFBIG, bytes that are not UTF-8 are EILSEQ.
pub fn read_stdin(limit: u64) -> Outcome<String> {
    let mut bytes = Vec::with_capacity(4096);
    Stdin.take(limit + 1).read_to_end(&mut bytes).map_err(|error| failure("read stdin", &error))?;
    if bytes.len() as u64 > limit {
        return Err(Failure { call: "read stdin".into(), errno: libc::EFBIG });
    }
    String::from_utf8(bytes).map_err(|_| Failure { call: "read stdin".into(), errno: libc::EILSEQ })
}

/// Waits until a descriptor has something to read or was hung up. Returns the event bits of `poll`, in the order of the
/// descriptors. A negative descriptor has no events.
pub fn poll(fds: &[i32], timeout_ms: i32) -> Outcome<Vec<i32>> {
    poll_for(libc::POLLIN, fds, timeout_ms)
}

pub(crate) fn poll_for(events: i16, fds: &[i32], timeout_ms: i32) -> Outcome<Vec<i32>> {
    let events = PollFlags::from_bits_retain(events as u16);
    let files: Vec<_> = fds.iter().copied().filter(|fd| *fd >= 0).map(borrowed).collect();
    let mut polled: Vec<_> = files.iter().map(|file| PollFd::new(&**file, events)).collect();
    let timeout = u64::try_from(timeout_ms).ok().and_then(|ms| Timespec::try_from(Duration::from_millis(ms)).ok());
    match rustix::event::poll(&mut polled, timeout.as_ref()) {
        Ok(_) | Err(Errno::INTR) => {}
        Err(errno) => return Err(failed("poll")(errno)),
    }
    let mut ready = polled.iter().map(|one| one.revents().bits().into());
    Ok(fds.iter().map(|fd| if *fd < 0 { 0 } else { ready.next().unwrap_or(0) }).collect())
}

pub fn random(buffer: &mut [u8]) -> Outcome<()> {
    let mut filled = 0;
    while filled < buffer.len() {
        filled += getrandom(&mut buffer[filled..], GetRandomFlags::empty()).map_err(failed("getrandom"))?;
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
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn random_bytes_differ() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        random(&mut a).unwrap();
        random(&mut b).unwrap();
        assert_ne!(a, b);
    }

    #[test]
    fn a_negative_descriptor_has_no_events_and_the_others_keep_their_places() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let fds = [-1, reader.as_raw_fd(), -1, writer.as_raw_fd()];
        assert_eq!(poll(&fds, 0).unwrap(), [0; 4]);
        writer.write_all(b"x").unwrap();
        assert_eq!(poll(&fds, -1).unwrap(), [0, libc::POLLIN.into(), 0, 0]);
        assert_eq!(poll(&[-1], 1).unwrap(), [0]);
    }
}
