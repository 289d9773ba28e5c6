//! Netlink sockets, as methods of `syscalls`. `NetlinkTransport` in `netlink-socket.ts` is their type.

use crate::api::{bytes_mut, method, throwing};
use crate::netns::in_netns;
use crate::sys::{Failure, Outcome, borrowed, failed};
use rquickjs::{Ctx, Object, Result, TypedArray};
use rustix::io::retry_on_intr;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{
    AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType, bind, netlink::SocketAddrNetlink, recv,
    socket_with,
};
use std::io::Error;
use std::num::NonZero;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::time::Duration;

/// The kernel answers a request before `send` returns. Only a kernel in trouble makes a reader wait this long.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// Room for the answers to all requests of one `send`, also where net.core.rmem_default is small.
const ANSWER_BUFFER_BYTES: usize = 512 << 10;

/// Room for a burst of multicast events. The kernel caps it at net.core.rmem_max.
const EVENT_BUFFER_BYTES: usize = 4 << 20;

pub fn install(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "netlinkOpen", |ctx: Ctx<'_>, netns: i32, groups: u32, protocol: u32| {
        throwing(&ctx, open(netns, groups, protocol))
    })?;
    method(syscalls, "netlinkSend", |ctx: Ctx<'_>, fd: i32, mut message: TypedArray<'_, u8>| {
        throwing(&ctx, send(fd, bytes_mut(&mut message)))
    })?;
    method(syscalls, "netlinkReceive", |ctx: Ctx<'_>, fd: i32, mut buffer: TypedArray<'_, u8>| {
        throwing(&ctx, receive(fd, bytes_mut(&mut buffer)).map(|length| length as f64))
    })
}

/// A netlink socket of `protocol` (NETLINK_ROUTE, NETLINK_NETFILTER) in the network namespace with the descriptor `netns`,
/// or in the plugin's own when that is negative. `groups` is a bit mask of multicast groups; a socket with any never blocks.
fn open(netns: i32, groups: u32, protocol: u32) -> Outcome<i32> {
    in_netns(netns, || open_socket(groups, protocol))
}

fn open_socket(groups: u32, protocol: u32) -> Outcome<i32> {
    let flags = SocketFlags::CLOEXEC | if groups == 0 { SocketFlags::empty() } else { SocketFlags::NONBLOCK };
    let protocol = NonZero::new(protocol).map(Protocol::from_raw);
    let socket =
        socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, protocol).map_err(failed("socket AF_NETLINK"))?;
    if groups != 0 {
        let _ = sockopt::set_socket_recv_buffer_size(&socket, EVENT_BUFFER_BYTES);
        bind(&socket, &SocketAddrNetlink::new(0, groups)).map_err(failed("bind AF_NETLINK"))?;
    } else {
        sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(ANSWER_TIMEOUT)).map_err(failed("setsockopt"))?;
        // Without the privilege to exceed net.core.rmem_max, the buffer is as large as that allows.
        let _ = sockopt::set_socket_recv_buffer_size_force(&socket, ANSWER_BUFFER_BYTES)
            .or_else(|_| sockopt::set_socket_recv_buffer_size(&socket, ANSWER_BUFFER_BYTES));
    }
    // A kernel without one of these answers in the older way, which the codec understands.
    for option in [libc::NETLINK_CAP_ACK, libc::NETLINK_EXT_ACK, libc::NETLINK_GET_STRICT_CHK] {
        let _ = set_option(socket.as_raw_fd(), libc::SOL_NETLINK, option, &1i32.to_ne_bytes());
    }
    Ok(socket.into_raw_fd())
}

/// Sets an option that rustix does not have: those of SOL_NETLINK.
fn set_option(fd: i32, level: i32, option: i32, value: &[u8]) -> std::io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, and the kernel only reads it.
    let result = unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), value.len() as u32) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

fn send(fd: i32, message: &[u8]) -> Outcome<()> {
    rustix::net::send(&*borrowed(fd), message, SendFlags::empty()).map(drop).map_err(failed("netlink send"))
}

/// One datagram; EMSGSIZE when it does not fit. A socket with multicast groups answers EAGAIN when there is none.
fn receive(fd: i32, buffer: &mut [u8]) -> Outcome<usize> {
    let received = retry_on_intr(|| recv(&*borrowed(fd), &mut *buffer, RecvFlags::TRUNC));
    match received.map_err(failed("netlink receive"))? {
        (_, length) if length <= buffer.len() => Ok(length),
        _ => Err(Failure { call: "netlink receive".into(), errno: libc::EMSGSIZE }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::netns::open_netns;
    use crate::sys::close;

    #[test]
    fn a_namespace_of_another_kind_is_refused_by_setns() {
        let file = open_netns("/proc/self/ns/uts").unwrap();
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
}
