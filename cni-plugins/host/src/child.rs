//! Sends a netlink request from a process of its own, for who need not wait until the kernel has cleaned up after it. Shown
//! to JavaScript as a further method of `host`; `NetlinkTransport` in `netlink-socket.ts` is its type.

use crate::api::{bytes_mut, method, throwing};
use crate::sys::{self, Failure, Outcome, check, failure};
use rquickjs::{Ctx, Object, Result, TypedArray};
use std::os::fd::{AsRawFd, IntoRawFd};

const OWN_PID_NAMESPACE: &str = "/proc/self/ns/pid";

/// The kernel's PROC_PID_INIT_INO. Whoever inherits processes in this namespace waits for their end.
const INITIAL_PID_NAMESPACE: &str = "pid:[4026531836]";

pub fn install(host: &Object<'_>) -> Result<()> {
    method(host, "netlinkSendByChild", |ctx: Ctx<'_>, fd: i32, mut message: TypedArray<'_, u8>, kept: Vec<i32>| {
        throwing(&ctx, send_by_child(fd, bytes_mut(&mut message), kept))
    })
}

/// Has a child process send the message. It has no other descriptors than this one and those to be kept, and may outlive
/// this process. The result is hung up when it ended, whether it sent the message or not. EPERM where nobody might wait
/// for its end after this process's own.
fn send_by_child(fd: i32, message: &[u8], kept: Vec<i32>) -> Outcome<i32> {
    require_initial_pid_namespace()?;
    let (ended, alive) = sys::pipe()?;
    let mut open = kept;
    open.extend([fd, alive.as_raw_fd()]);
    open.sort_unstable();
    // SAFETY: the child makes system calls only, whatever other threads were doing.
    match check(unsafe { libc::fork() }, "fork")? {
        0 => run_child(fd, message, &open),
        _ => Ok(ended.into_raw_fd()),
    }
}

fn require_initial_pid_namespace() -> Outcome<()> {
    let call = || format!("readlink {OWN_PID_NAMESPACE}");
    let own = std::fs::read_link(OWN_PID_NAMESPACE).map_err(|error| failure(call(), &error))?;
    if own.as_os_str() == INITIAL_PID_NAMESPACE { Ok(()) } else { Err(Failure { call: call(), errno: libc::EPERM }) }
}

/// `open` is in order.
fn run_child(fd: i32, message: &[u8], open: &[i32]) -> ! {
    let mut first = 0;
    for &kept in open {
        if first < kept && !close_range(first, kept as u32 - 1) {
            sys::exit(1);
        }
        first = kept + 1;
    }
    if close_range(first, u32::MAX) {
        // SAFETY: the pointer and the length describe `message`.
        unsafe { libc::write(fd, message.as_ptr().cast(), message.len()) };
    }
    sys::exit(0)
}

/// False for a kernel before 5.9.
fn close_range(first: i32, last: u32) -> bool {
    // SAFETY: this process uses none of them any more.
    unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::fs;

    /// The children of this process by what they have open.
    fn descriptors_of_children() -> Vec<BTreeSet<i32>> {
        let parent = format!("PPid:\t{}\n", std::process::id());
        let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
        let children =
            processes.filter(|path| fs::read_to_string(path.join("status")).is_ok_and(|s| s.contains(&parent)));
        let names = children.map(|path| fs::read_dir(path.join("fd")).into_iter().flatten().flatten());
        names.map(|names| names.filter_map(|fd| fd.file_name().to_str()?.parse().ok()).collect()).collect()
    }

    #[test]
    fn a_child_sends_the_message_and_has_nothing_open_but_what_it_needs() {
        let (ours, theirs) = sys::full_datagrams();
        let kept = fs::File::open("/").unwrap();
        let sent = send_by_child(ours.as_raw_fd(), b"message", vec![kept.as_raw_fd()]);
        if require_initial_pid_namespace().is_err() {
            assert_eq!(sent.unwrap_err().errno, libc::EPERM);
            return;
        }
        let ended = sent.unwrap();
        let needed = |open: &BTreeSet<i32>| {
            open.len() == 3 && open.contains(&ours.as_raw_fd()) && open.contains(&kept.as_raw_fd())
        };
        while !descriptors_of_children().iter().any(needed) {
            assert_eq!(sys::poll(&[ended], 0).unwrap(), [0]);
        }
        let mut message = [0; 16];
        while theirs.recv(&mut message).unwrap() != b"message".len() {}
        assert_eq!(sys::poll(&[ended], -1).unwrap(), [i32::from(libc::POLLHUP)]);
        sys::close(ended);
    }

    #[test]
    fn a_message_that_is_not_taken_ends_the_child_all_the_same() {
        let file = fs::File::open("/").unwrap();
        if let Ok(ended) = send_by_child(file.as_raw_fd(), b"message", Vec::new()) {
            assert_eq!(sys::poll(&[ended], -1).unwrap(), [i32::from(libc::POLLHUP)]);
            sys::close(ended);
        }
    }
}
