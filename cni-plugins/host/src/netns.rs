//! Network namespaces: descriptors of them, and what is done inside one.

use crate::sys::{Outcome, check, failure};
use std::fs::File;
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::fs::MetadataExt;

const OWN_NETNS: &str = "/proc/thread-self/ns/net";

pub fn open_netns(path: &str) -> Outcome<i32> {
    File::open(path).map(IntoRawFd::into_raw_fd).map_err(|error| failure(format!("open {path}"), &error))
}

/// Whether the descriptor is the network namespace that this process runs in.
pub fn is_own_netns(fd: i32) -> Outcome<bool> {
    // SAFETY: the descriptor stays open: ManuallyDrop keeps File from closing what it does not own.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(fd) });
    let theirs = file.metadata().map_err(|error| failure("fstat", &error))?;
    let ours = std::fs::metadata(OWN_NETNS).map_err(|error| failure(format!("stat {OWN_NETNS}"), &error))?;
    Ok(theirs.dev() == ours.dev() && theirs.ino() == ours.ino())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::close;

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
}
