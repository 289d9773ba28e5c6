//! Netlink sockets. Shown to JavaScript as methods of `host`; `NetlinkTransport` in `netlink-socket.ts` is their type.

use crate::api::{bytes_mut, method, throwing};
use crate::netns::in_netns;
use crate::sys::{Failure, Outcome, check, last};
use rquickjs::{Ctx, Object, Result, TypedArray};
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

/// The kernel answers a request before `send` returns; only a kernel in trouble lets a reader wait this long.
const ANSWER_TIMEOUT_SECONDS: i64 = 10;

/// Room for a burst of multicast events. The kernel caps it at net.core.rmem_max.
const EVENT_BUFFER_BYTES: i32 = 4 << 20;

/// Where they stand in an RTM_*LINK message: struct nlmsghdr, then struct ifinfomsg.
const MESSAGE_TYPE: u32 = 4;
const LINK_FAMILY: u32 = 16;
const LINK_INDEX: u32 = 20;

pub fn install(host: &Object<'_>) -> Result<()> {
    method(host, "netlinkOpen", |ctx: Ctx<'_>, netns: i32, groups: u32, protocol: i32| {
        throwing(&ctx, open(netns, groups, protocol))
    })?;
    method(host, "netlinkSend", |ctx: Ctx<'_>, fd: i32, mut message: TypedArray<'_, u8>| {
        throwing(&ctx, send(fd, bytes_mut(&mut message)))
    })?;
    method(host, "netlinkReceive", |ctx: Ctx<'_>, fd: i32, mut buffer: TypedArray<'_, u8>| {
        throwing(&ctx, receive(fd, bytes_mut(&mut buffer)).map(|length| length as f64))
    })?;
    method(host, "watchLinkDeletion", |ctx: Ctx<'_>, netns: i32, index: i32| {
        throwing(&ctx, watch_link_deletion(netns, index))
    })?;
    method(host, "mayHaveInterface", |fd: i32, name: String| may_have_interface(fd, &name))
}

/// A netlink socket of `protocol` (NETLINK_ROUTE, NETLINK_NETFILTER), inside another network namespace when `netns` is
/// a descriptor of one (>= 0). `groups` is the bit mask of multicast groups; such a socket never blocks.
fn open(netns: i32, groups: u32, protocol: i32) -> Outcome<i32> {
    in_netns(netns, || open_socket(groups, protocol))
}

fn open_socket(groups: u32, protocol: i32) -> Outcome<i32> {
    let socket = new_socket(protocol, if groups == 0 { 0 } else { libc::SOCK_NONBLOCK })?;
    let fd = socket.as_raw_fd();
    if groups != 0 {
        let _ = set_option(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &EVENT_BUFFER_BYTES);
        join(fd, groups)?;
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

fn new_socket(protocol: i32, flags: i32) -> Outcome<OwnedFd> {
    let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC | flags;
    // SAFETY: takes no pointer; the new descriptor is owned from here on.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(libc::AF_NETLINK, kind, protocol), "socket AF_NETLINK")?)) }
}

fn join(fd: i32, groups: u32) -> Outcome<i32> {
    // SAFETY: all zeroes is a valid address of "any port, no group".
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = groups;
    // SAFETY: the pointer and the length describe `address`.
    check(unsafe { libc::bind(fd, (&raw const address).cast(), size_of_val(&address) as u32) }, "bind AF_NETLINK")
}

/// A socket that has something to read once the kernel has taken the link of this index out of the network namespace. What
/// it says of other links, or of this one as a port of its bridge, reaches nobody.
fn watch_link_deletion(netns: i32, index: i32) -> Outcome<i32> {
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_H | libc::BPF_ABS, MESSAGE_TYPE),
        unless(u32::from(libc::RTM_DELLINK.to_be()), 5),
        statement(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS, LINK_FAMILY),
        unless(libc::AF_UNSPEC as u32, 3),
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, LINK_INDEX),
        unless((index as u32).to_be(), 1),
        statement(libc::BPF_RET, u32::MAX),
        statement(libc::BPF_RET, 0),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    in_netns(netns, || {
        let socket = new_socket(libc::NETLINK_ROUTE, libc::SOCK_NONBLOCK)?;
        set_option(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &program)?;
        join(socket.as_raw_fd(), libc::RTMGRP_LINK as u32)?;
        Ok(socket.into_raw_fd())
    })
}

fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

/// Goes on with the next statement if what was loaded is `k`, else leaves some out.
fn unless(k: u32, left_out: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16, jt: 0, jf: left_out, k }
}

fn set_option<T>(fd: i32, level: i32, option: i32, value: &T) -> Outcome<i32> {
    // SAFETY: the pointer and the length describe `value`.
    check(
        unsafe { libc::setsockopt(fd, level, option, (&raw const *value).cast(), size_of::<T>() as u32) },
        "setsockopt",
    )
}

fn send(fd: i32, message: &[u8]) -> Outcome<()> {
    sent(send_raw(fd, message))
}

/// What `send_raw` returned, as an outcome.
pub(crate) fn sent(errno: i32) -> Outcome<()> {
    if errno == 0 { Ok(()) } else { Err(Failure { call: "netlink send".into(), errno }) }
}

/// The errno, or 0. Takes no memory of the heap.
pub(crate) fn send_raw(fd: i32, message: &[u8]) -> i32 {
    // SAFETY: the pointer and the length describe `message`.
    let sent = unsafe { libc::send(fd, message.as_ptr().cast(), message.len(), 0) };
    if sent < 0 { Error::last_os_error().raw_os_error().unwrap_or(libc::EIO) } else { 0 }
}

/// One datagram; EMSGSIZE when it does not fit. A socket with multicast groups answers EAGAIN when there is none.
fn receive(fd: i32, buffer: &mut [u8]) -> Outcome<usize> {
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
fn may_have_interface(fd: i32, name: &str) -> bool {
    // SAFETY: the pointer and the length describe `name`; the kernel adds the nul.
    let result = unsafe {
        libc::setsockopt(fd, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, name.as_ptr().cast(), name.len() as u32)
    };
    result == 0 || Error::last_os_error().raw_os_error() != Some(libc::ENODEV)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::open_netns;
    use crate::sys::close;

    #[test]
    fn a_descriptor_that_is_no_namespace_is_refused_by_setns() {
        let file = open_netns("/proc/self/status").unwrap();
        assert_eq!(open(file, 0, 0).unwrap_err().errno, libc::EINVAL);
        close(file);
    }

    #[test]
    fn a_netlink_request_is_answered_and_a_short_buffer_is_reported() {
        let socket = open(-1, 0, 0).unwrap();
        // RTM_GETLINK of interface 1 (lo).
        let mut request = [0u8; 32];
        request[0] = 32;
        request[4] = 18;
        request[6] = 1;
        request[20] = 1;
        send(socket, &request).unwrap();
        assert_eq!(receive(socket, &mut [0; 16]).unwrap_err().errno, libc::EMSGSIZE);
        send(socket, &request).unwrap();
        let mut answer = [0; 16384];
        assert!(receive(socket, &mut answer).unwrap() > 32);
        assert_eq!(answer[4], 16);
        close(socket);
    }

    #[test]
    fn only_a_socket_knows_that_an_interface_is_not_there() {
        let socket = open(-1, 0, 0).unwrap();
        assert!(may_have_interface(socket, "lo"));
        assert!(!may_have_interface(socket, "no-such-link"));
        assert!(may_have_interface(socket, "lo"));
        close(socket);
        let file = open_netns("/proc/self/ns/net").unwrap();
        assert!(may_have_interface(file, "no-such-link"));
        close(file);
    }
}
