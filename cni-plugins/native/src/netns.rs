//! Network namespaces: opens them, compares them, and works inside one.

use crate::sys::{Failure, Outcome, borrowed, failed, failure};
use rustix::fs::fstatfs;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::fs::{File, OpenOptions};
use std::os::fd::{AsFd, IntoRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};

const OWN_NETNS: &str = "/proc/thread-self/ns/net";

/// Never waits, not even for the writer of a FIFO. EINVAL for a file that is not a namespace.
pub fn open_netns(path: &str) -> Outcome<i32> {
    let call = || format!("open {path}");
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY);
    let file = options.open(path).map_err(|error| failure(call(), &error))?;
    if is_namespace(&file)? { Ok(file.into_raw_fd()) } else { Err(Failure { call: call(), errno: libc::EINVAL }) }
}

fn is_namespace(file: &File) -> Outcome<bool> {
    Ok(fstatfs(file).map_err(failed("fstatfs"))?.f_type == libc::NSFS_MAGIC)
}

/// Whether the descriptor is the network namespace that this process runs in.
pub fn is_own_netns(fd: i32) -> Outcome<bool> {
    let theirs = borrowed(fd).metadata().map_err(|error| failure("fstat", &error))?;
    let ours = std::fs::metadata(OWN_NETNS).map_err(|error| failure(format!("stat {OWN_NETNS}"), &error))?;
    Ok(theirs.dev() == ours.dev() && theirs.ino() == ours.ino())
}

/// Does one action inside another network namespace, or in the plugin's own when `netns` is negative.
pub(crate) fn in_netns<T>(netns: i32, action: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    if netns < 0 {
        return action();
    }
    let own = File::open(OWN_NETNS).map_err(|error| failure(format!("open {OWN_NETNS}"), &error))?;
    enter(&borrowed(netns))?;
    let done = action();
    if let Err(error) = enter(&own) {
        // Every later call would act on the container's network instead of the node's.
        panic!("cannot return to the node's network namespace: {} errno {}", error.call, error.errno);
    }
    done
}

fn enter(netns: &File) -> Outcome<()> {
    move_into_link_name_space(netns.as_fd(), Some(LinkNameSpaceType::Network)).map_err(failed("setns"))
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
    fn what_is_no_namespace_is_refused() {
        for path in ["/", "/dev/null", "/proc/self/status"] {
            assert_eq!(open_netns(path).unwrap_err().errno, libc::EINVAL);
        }
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
