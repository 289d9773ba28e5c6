//! Sends a netlink request from a second thread, while this one goes on. Shown to JavaScript as further methods of `host`;
//! `NetlinkTransport` in `netlink-socket.ts` is their type.

use crate::api::{bytes_mut, method, throwing};
use crate::netlink;
use crate::sys::{self, Outcome};
use rquickjs::{Ctx, Object, Result, TypedArray};
use std::ffi::c_void;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::ptr::null_mut;

pub fn install(host: &Object<'_>) -> Result<()> {
    method(host, "netlinkSendAside", |ctx: Ctx<'_>, fd: i32, mut message: TypedArray<'_, u8>| {
        throwing(&ctx, send_aside(fd, bytes_mut(&mut message)))
    })?;
    method(host, "awaitSent", |ctx: Ctx<'_>, sent: i32| throwing(&ctx, await_sent(sent)))
}

struct Task {
    fd: i32,
    message: Vec<u8>,
    outcome: OwnedFd,
}

/// A descriptor for `await_sent`. Where no thread can be made the message is sent before this returns.
fn send_aside(fd: i32, message: &[u8]) -> Outcome<i32> {
    let (sent, outcome) = sys::pipe()?;
    // Never freed, and the thread allocates nothing: the heap is used by one thread only.
    let task = Box::leak(Box::new(Task { fd, message: message.to_vec(), outcome }));
    let argument: *mut c_void = (&raw mut *task).cast();
    let mut thread = 0;
    let attributes = on_another_processor();
    // SAFETY: the pointers are valid, and `run` takes such a task, which nobody else uses from here on.
    if unsafe { libc::pthread_create(&mut thread, &attributes, run, argument) } != 0 {
        run(argument);
    }
    Ok(sent.into_raw_fd())
}

/// A new thread starts on its maker's processor when the kernel sees no idle one. A virtual machine's processor that idles
/// counts as taken away by the hypervisor, and the thread would wait until its maker does.
fn on_another_processor() -> libc::pthread_attr_t {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: all zeroes is a valid set, `pthread_attr_init` makes valid attributes, and the pointers describe both.
    unsafe {
        let mut attributes = std::mem::zeroed();
        libc::pthread_attr_init(&mut attributes);
        let mut processors = std::mem::zeroed();
        let own = libc::sched_getcpu();
        if own >= 0 && libc::sched_getaffinity(0, SIZE, &mut processors) == 0 {
            libc::CPU_CLR(own as usize, &mut processors);
            if libc::CPU_COUNT(&processors) > 0 {
                libc::pthread_attr_setaffinity_np(&mut attributes, SIZE, &processors);
            }
        }
        attributes
    }
}

extern "C" fn run(task: *mut c_void) -> *mut c_void {
    // SAFETY: see `send_aside`.
    let Task { fd, message, outcome } = unsafe { &*task.cast::<Task>() };
    let errno = netlink::send_raw(*fd, message);
    // SAFETY: the pointer and the length describe `errno`.
    unsafe { libc::write(outcome.as_raw_fd(), (&raw const errno).cast(), size_of_val(&errno)) };
    null_mut()
}

/// Waits until the message was sent, and closes the descriptor.
fn await_sent(sent: i32) -> Outcome<()> {
    // SAFETY: the caller got the descriptor from `send_aside` and gives it up here.
    let sent = unsafe { OwnedFd::from_raw_fd(sent) };
    let mut errno = [0; size_of::<i32>()];
    sys::read(sent.as_raw_fd(), &mut errno)?;
    netlink::sent(i32::from_ne_bytes(errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The processors that each thread of this process may use, as the kernel lists them.
    fn processors_of_threads() -> Vec<String> {
        let threads = fs::read_dir("/proc/self/task").unwrap().map(|entry| entry.unwrap().path());
        let statuses = threads.map(|path| fs::read_to_string(path.join("status")).unwrap_or_default());
        let allowed = statuses.map(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
            line.unwrap_or_default().trim().to_owned()
        });
        allowed.collect()
    }

    #[test]
    fn the_message_is_sent_by_a_thread_that_does_not_wait_for_this_one() {
        let (ours, theirs) = sys::full_datagrams();
        let before = processors_of_threads();
        let sent = send_aside(ours.as_raw_fd(), b"message").unwrap();
        assert_eq!(sys::poll(&[sent], 0).unwrap(), [0]);
        if std::thread::available_parallelism().unwrap().get() > 1 {
            assert!(processors_of_threads().iter().any(|own| !before.contains(own)));
        }
        let mut message = [0; 16];
        while theirs.recv(&mut message).unwrap() != b"message".len() {}
        await_sent(sent).unwrap();
    }

    #[test]
    fn what_kept_the_message_from_being_sent_is_told() {
        let file = fs::File::open("/").unwrap();
        let failure = await_sent(send_aside(file.as_raw_fd(), b"message").unwrap()).unwrap_err();
        assert_eq!((failure.call.as_str(), failure.errno), ("netlink send", libc::ENOTSOCK));
    }
}
