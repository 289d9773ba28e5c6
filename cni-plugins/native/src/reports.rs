//! Reports of what a plugin did, one datagram each, for the agent on the node.

use crate::api::{method, throwing};
use crate::sys::{Outcome, failure};
use rquickjs::{Ctx, Object, Result};
use std::io::{Error, ErrorKind};
use std::os::fd::IntoRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;

const PRIVATE_SOCKET: u32 = 0o600;

pub fn install(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "sendReport", |path: String, text: String| send_report(&path, &text))?;
    method(syscalls, "bindReports", |ctx: Ctx<'_>, path: String| throwing(&ctx, bind_reports(&path)))
}

/// Never blocks. The report is lost when nobody listens or the listener is too busy.
fn send_report(path: &str, text: &str) {
    let Ok(socket) = UnixDatagram::unbound() else { return };
    let _ = socket.set_nonblocking(true).and_then(|()| socket.send_to(text.as_bytes(), path));
}

/// A socket that receives reports and replaces that of an earlier listener. Its directory must exist.
fn bind_reports(path: &str) -> Outcome<i32> {
    let bind = || {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = UnixDatagram::bind(path)?;
        std::fs::set_permissions(path, PermissionsExt::from_mode(PRIVATE_SOCKET))?;
        socket.set_nonblocking(true)?;
        Ok(socket.into_raw_fd())
    };
    bind().map_err(|error: Error| failure(format!("bind {path}"), &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys;

    #[test]
    fn a_report_reaches_the_listener_and_nobody_minds_when_there_is_none() {
        let directory = std::env::temp_dir().join(format!("cni-reports-{}", std::process::id()));
        std::fs::create_dir_all(&directory).unwrap();
        let path = directory.join("socket").to_string_lossy().into_owned();
        send_report(&path, "lost");
        let listener = bind_reports(&path).unwrap();
        send_report(&path, "heard");
        let mut buffer = [0; 16];
        let length = sys::read(listener, &mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"heard");
        assert_eq!(sys::read(listener, &mut buffer).unwrap_err().errno, libc::EAGAIN);
        sys::close(listener);
        send_report(&path, "lost");
        sys::close(bind_reports(&path).unwrap());
        std::fs::remove_dir_all(directory).unwrap();
    }
}
