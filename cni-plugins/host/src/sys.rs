//! Linux system calls, each with its errno and its name. All of the `unsafe` of the plugins' calls is here.

use std::ffi::CString;
use std::fs::File;
use std::io::{Error, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::Instant;

/// A failed call: which one and on what, and the kernel's errno.
#[derive(Debug)]
pub struct Failure {
    pub call: String,
    pub errno: i32,
}

pub type Outcome<T> = Result<T, Failure>;

const OWN_NETNS: &str = "/proc/thread-self/ns/net";

const PAGE_BYTES: usize = 4096;

/// The kernel answers a request before `send` returns; only a kernel in trouble lets a reader wait this long.
const ANSWER_TIMEOUT_SECONDS: i64 = 10;

/// Room for a burst of multicast events. The kernel caps it at net.core.rmem_max.
const EVENT_BUFFER_BYTES: i32 = 4 << 20;

pub(crate) fn failure(call: impl Into<String>, error: &Error) -> Failure {
    Failure { call: call.into(), errno: error.raw_os_error().unwrap_or(libc::EIO) }
}

fn last(call: impl Into<String>) -> Failure {
    failure(call, &Error::last_os_error())
}

fn check(result: i32, call: &str) -> Outcome<i32> {
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

pub fn open_netns(path: &str) -> Outcome<i32> {
    File::open(path).map(IntoRawFd::into_raw_fd).map_err(|error| failure(format!("open {path}"), &error))
}

/// Whether the descriptor is the network namespace that this process runs in.
pub fn is_own_netns(fd: i32) -> Outcome<bool> {
    // SAFETY: as in `write_all`.
    let file = std::mem::ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    let theirs = file.metadata().map_err(|error| failure("fstat", &error))?;
    let ours = std::fs::metadata(OWN_NETNS).map_err(|error| failure(format!("stat {OWN_NETNS}"), &error))?;
    Ok(theirs.dev() == ours.dev() && theirs.ino() == ours.ino())
}

/// A netlink socket of `protocol` (NETLINK_ROUTE, NETLINK_NETFILTER), inside another network namespace when `netns` is
/// a descriptor of one (>= 0). `groups` is the bit mask of multicast groups; such a socket never blocks.
pub fn netlink_open(netns: i32, groups: u32, protocol: i32) -> Outcome<i32> {
    in_netns(netns, || netlink_socket(groups, protocol))
}

/// Does one thing inside another network namespace, or in the own one when `netns` is negative.
pub(crate) fn in_netns<T>(netns: i32, action: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    if netns < 0 {
        return action();
    }
    let own = File::open(OWN_NETNS).map_err(|error| failure(format!("open {OWN_NETNS}"), &error))?;
    enter(netns)?;
    let done = action();
    if let Err(error) = enter(own.as_raw_fd()) {
        // Every later call would act on the container's network instead of the node's.
        panic!("cannot return to the node's network namespace: {} errno {}", error.call, error.errno);
    }
    done
}

fn enter(netns: i32) -> Outcome<i32> {
    // SAFETY: takes no pointer.
    check(unsafe { libc::setns(netns, libc::CLONE_NEWNET) }, "setns")
}

fn netlink_socket(groups: u32, protocol: i32) -> Outcome<i32> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | if groups == 0 { 0 } else { libc::SOCK_NONBLOCK };
    // SAFETY: takes no pointer; the new descriptor is owned from here on.
    let socket =
        unsafe { OwnedFd::from_raw_fd(check(libc::socket(libc::AF_NETLINK, kind, protocol), "socket AF_NETLINK")?) };
    let fd = socket.as_raw_fd();
    if groups != 0 {
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &EVENT_BUFFER_BYTES);
        // SAFETY: all zeroes is a valid address of "any port, no group".
        let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
        address.nl_family = libc::AF_NETLINK as u16;
        address.nl_groups = groups;
        let length = size_of_val(&address) as u32;
        // SAFETY: the pointer and the length describe `address`.
        check(unsafe { libc::bind(fd, (&raw const address).cast(), length) }, "bind AF_NETLINK")?;
    } else {
        let timeout = libc::timeval { tv_sec: ANSWER_TIMEOUT_SECONDS, tv_usec: 0 };
        set_option(fd, libc::SOL_SOCKET, libc::SO_RCVTIMEO, &timeout)?;
    }
    // Kernels that lack one of these answer in the older way, which the codec understands.
    for option in [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK, libc::NETLINK_GET_STRICT_CHK] {
        let _ = set_option(fd, libc::SOL_NETLINK, option, &1i32);
    }
    Ok(socket.into_raw_fd())
}

fn set_option<T>(fd: i32, level: i32, option: i32, value: &T) -> Outcome<i32> {
    // SAFETY: the pointer and the length describe `value`.
    check(
        unsafe { libc::setsockopt(fd, level, option, (&raw const *value).cast(), size_of::<T>() as u32) },
        "setsockopt",
    )
}

pub fn netlink_send(fd: i32, message: &[u8]) -> Outcome<()> {
    // SAFETY: the pointer and the length describe `message`.
    let sent = unsafe { libc::send(fd, message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 { Err(last("netlink send")) } else { Ok(()) }
}

/// One datagram; EMSGSIZE when it does not fit. A socket with multicast groups answers EAGAIN when there is none.
pub fn netlink_receive(fd: i32, buffer: &mut [u8]) -> Outcome<usize> {
    loop {
        // SAFETY: the pointer and the length describe `buffer`.
        let got = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), libc::MSG_TRUNC) };
        match usize::try_from(got) {
            Ok(length) if length <= buffer.len() => return Ok(length),
            Ok(_) => return Err(Failure { call: "netlink receive".into(), errno: libc::EMSGSIZE }),
            Err(_) if Error::last_os_error().raw_os_error() == Some(libc::EINTR) => {}
            Err(_) => return Err(last("netlink receive")),
        }
    }
}

/// False when the network namespace of a socket has no interface of that name. Unlike a netlink request this does not wait
/// for the kernel's one lock for links, and unlike the ioctls it never has the kernel look for a module of that name. A
/// netlink socket that is bound to an interface works like one that is not.
pub fn may_have_interface(fd: i32, name: &str) -> bool {
    // SAFETY: the pointer and the length describe `name`; the kernel adds the nul.
    let result =
        unsafe { libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name.as_ptr().cast(), name.len() as u32) };
    result == 0 || Error::last_os_error().raw_os_error() != Some(libc::ENODEV)
}

/// Waits until a descriptor has something to read or was hung up. The `poll` event bits, one for each descriptor.
pub fn poll(fds: &[i32], timeout_ms: i32) -> Outcome<Vec<i32>> {
    let mut polled: Vec<_> = fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_names_itself_and_its_errno() {
        let failure = open_netns("/no/such/namespace").unwrap_err();
        assert_eq!(failure.call, "open /no/such/namespace");
        assert_eq!(failure.errno, libc::ENOENT);
    }

    #[test]
    fn the_own_network_namespace_is_recognised() {
        let own = open_netns(OWN_NETNS).unwrap();
        assert!(is_own_netns(own).unwrap());
        close(own);
        let other = open_netns("/proc/self/ns/uts").unwrap();
        assert!(!is_own_netns(other).unwrap());
        close(other);
    }

    #[test]
    fn a_descriptor_that_is_no_namespace_is_refused_by_setns() {
        let file = open_netns("/proc/self/status").unwrap();
        assert_eq!(netlink_open(file, 0, 0).unwrap_err().errno, libc::EINVAL);
        close(file);
    }

    #[test]
    fn a_netlink_request_is_answered_and_a_short_buffer_is_reported() {
        let socket = netlink_open(-1, 0, 0).unwrap();
        // RTM_GETLINK of interface 1 (lo).
        let mut request = [0u8; 32];
        request[0] = 32;
        request[4] = 18;
        request[6] = 1;
        request[20] = 1;
        netlink_send(socket, &request).unwrap();
        assert_eq!(netlink_receive(socket, &mut [0; 16]).unwrap_err().errno, libc::EMSGSIZE);
        netlink_send(socket, &request).unwrap();
        let mut answer = [0; 16384];
        assert!(netlink_receive(socket, &mut answer).unwrap() > 32);
        assert_eq!(answer[4], 16);
        close(socket);
    }

    #[test]
    fn only_a_socket_knows_that_an_interface_is_not_there() {
        let socket = netlink_open(-1, 0, 0).unwrap();
        assert!(may_have_interface(socket, "lo"));
        assert!(!may_have_interface(socket, "no-such-link"));
        assert!(may_have_interface(socket, "lo"));
        close(socket);
        let file = open_netns(OWN_NETNS).unwrap();
        assert!(may_have_interface(file, "no-such-link"));
        close(file);
    }

    #[test]
    fn random_bytes_differ() {
        let (mut a, mut b) = ([0; 16], [0; 16]);
        random(&mut a).unwrap();
        random(&mut b).unwrap();
        assert_ne!(a, b);
    }
}
