//! Files that plugins read, tune and keep. `netns` is the descriptor of the network namespace whose /proc/sys/net is meant.
//! A negative one means the namespace of the plugin itself.

use crate::netns::in_netns;
use crate::sys::{Failure, Outcome, failure};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

const PRIVATE_FILE: u32 = 0o600;
const PRIVATE_DIRECTORY: u32 = 0o700;
const READ_LIMIT_BYTES: u64 = 1 << 20;
const USUAL_FILE_BYTES: usize = 1024;

/// More than 1 MiB is EFBIG, bytes that are not UTF-8 are EILSEQ.
pub fn read_file(netns: i32, path: &str) -> Outcome<String> {
    let call = || format!("read {path}");
    let bytes = in_netns(netns, || {
        let mut bytes = Vec::with_capacity(USUAL_FILE_BYTES);
        let read = File::open(path).and_then(|file| file.take(READ_LIMIT_BYTES + 1).read_to_end(&mut bytes));
        read.map(|_| bytes).map_err(|error| failure(call(), &error))
    })?;
    if bytes.len() as u64 > READ_LIMIT_BYTES {
        return Err(Failure { call: call(), errno: libc::EFBIG });
    }
    String::from_utf8(bytes).map_err(|_| Failure { call: call(), errno: libc::EILSEQ })
}

/// Writes a file that exists already, such as one under /proc/sys.
pub fn write_file(netns: i32, path: &str, text: &str) -> Outcome<()> {
    in_netns(netns, || {
        let open = File::options().write(true).open(path);
        open.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| failure(format!("write {path}"), &error))
    })
}

/// Replaces or creates a file, whole or not at all, and makes missing folders. Only the owner can read it.
pub fn replace_file(path: &str, text: &str) -> Outcome<()> {
    let temporary = temporary_of(path);
    let written = match write_private(&temporary, text) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = Path::new(path).parent().unwrap_or(Path::new("/"));
            let made = DirBuilder::new().recursive(true).mode(PRIVATE_DIRECTORY).create(folder);
            made.and_then(|()| write_private(&temporary, text))
        }
        outcome => outcome,
    };
    written.and_then(|()| std::fs::rename(&temporary, path)).map_err(|error| {
        let _ = std::fs::remove_file(&temporary);
        failure(format!("write {path}"), &error)
    })
}

fn write_private(path: &str, text: &str) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(PRIVATE_FILE).open(path)?;
    file.write_all(text.as_bytes())
}

/// The same name for every call, so that `remove_file` finds the leftover of a killed `replace_file`.
fn temporary_of(path: &str) -> String {
    format!("{path}.tmp")
}

/// Also removes the leftover of a killed `replace_file`. ENOENT when there is no file.
pub fn remove_file(path: &str) -> Outcome<()> {
    let _ = std::fs::remove_file(temporary_of(path));
    std::fs::remove_file(path).map_err(|error| failure(format!("remove {path}"), &error))
}

pub fn list_directory(path: &str) -> Outcome<Vec<String>> {
    let mut names = Vec::new();
    let entries = std::fs::read_dir(path).map_err(|error| failure(format!("list {path}"), &error))?;
    for entry in entries {
        let entry = entry.map_err(|error| failure(format!("list {path}"), &error))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    fn scratch(name: &str) -> String {
        let directory = std::env::temp_dir().join(format!("cni-native-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&directory);
        directory.to_string_lossy().into_owned()
    }

    #[test]
    fn a_replaced_file_and_its_folder_are_private() {
        let directory = scratch("private");
        let path = format!("{directory}/deep/file.json");
        replace_file(&path, "first").unwrap();
        replace_file(&path, "second").unwrap();
        assert_eq!(read_file(-1, &path).unwrap(), "second");
        assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, PRIVATE_FILE);
        assert_eq!(std::fs::metadata(format!("{directory}/deep")).unwrap().mode() & 0o777, PRIVATE_DIRECTORY);
        assert_eq!(list_directory(&format!("{directory}/deep")).unwrap(), ["file.json"]);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn removing_takes_a_half_written_predecessor_along() {
        let directory = scratch("remove");
        let path = format!("{directory}/file.json");
        replace_file(&path, "whole").unwrap();
        std::fs::write(temporary_of(&path), "half").unwrap();
        remove_file(&path).unwrap();
        assert!(list_directory(&directory).unwrap().is_empty());
        assert_eq!(remove_file(&path).unwrap_err().errno, libc::ENOENT);
        std::fs::remove_dir_all(directory).unwrap();
    }

    #[test]
    fn a_file_that_is_too_large_is_refused() {
        let directory = scratch("large");
        let path = format!("{directory}/file");
        replace_file(&path, &"x".repeat(READ_LIMIT_BYTES as usize + 1)).unwrap();
        assert_eq!(read_file(-1, &path).unwrap_err().errno, libc::EFBIG);
        std::fs::remove_dir_all(directory).unwrap();
    }
}
