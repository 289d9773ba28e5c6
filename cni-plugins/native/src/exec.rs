//! Runs IPAM plugins and the node's iptables, as methods of `syscalls`. `syscalls.ts` is their type.

use crate::api::{method, throwing};
use crate::sys::{self, Outcome, failure};
use rquickjs::{Ctx, IntoJs, Object, Result, Value};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};

/// One page: a larger buffer on the stack would map more memory.
const OUTPUT_PIECE_BYTES: usize = 4 << 10;

pub fn install(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "isExecutable", |path: String| is_executable(&path))?;
    method(syscalls, "exec", |ctx: Ctx<'_>, path: String, args: Vec<String>, env: Vec<String>, stdin: String| {
        throwing(&ctx, exec(&path, &args, &env, stdin.as_bytes()))
    })
}

impl<'js> IntoJs<'js> for Finished {
    fn into_js(self, ctx: &Ctx<'js>) -> Result<Value<'js>> {
        let object = Object::new(ctx.clone())?;
        object.set("code", self.code)?;
        object.set("stdout", self.stdout)?;
        object.set("stderr", self.stderr)?;
        Ok(object.into_value())
    }
}

/// Whether the path is a regular file that somebody may execute.
fn is_executable(path: &str) -> bool {
    std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// A finished program.
struct Finished {
    /// Its exit code, or 128 and the signal that ended it.
    code: i32,
    stdout: String,
    stderr: String,
}

/// Runs the file at `path` to its end, in this process's environment with the `assignments` (NAME=value) made in it.
/// Replaces invalid UTF-8 in its output. ETXTBSY is for the caller to try again.
fn exec(path: &str, args: &[String], assignments: &[String], input: &[u8]) -> Outcome<Finished> {
    let mut command = Command::new(path);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    for (name, value) in assignments.iter().filter_map(|assignment| assignment.split_once('=')) {
        command.env(name, value);
    }
    let mut child = command.spawn().map_err(|error| failure(format!("execute {path}"), &error))?;
    let [stdout, stderr] = converse(&mut child, input)?;
    let status = child.wait().map_err(|error| failure("wait for a program", &error))?;
    Ok(Finished {
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        stdout: String::from_utf8_lossy(&stdout).into_owned(),
        stderr: String::from_utf8_lossy(&stderr).into_owned(),
    })
}

/// Gives the program its input and takes its stdout and stderr, each when it is ready for it, until all are closed.
fn converse(child: &mut Child, mut input: &[u8]) -> Outcome<[Vec<u8>; 2]> {
    let stdout = child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let stderr = child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
    let mut pipes = [stdout, stderr];
    let mut outputs = [Vec::new(), Vec::new()];
    loop {
        let fds = [number_of(&child.stdin), number_of(&pipes[0]), number_of(&pipes[1])];
        if fds == [-1; 3] {
            return Ok(outputs);
        }
        let ready = sys::poll_for(libc::POLLIN | libc::POLLOUT, &fds, -1)?;
        if ready[0] != 0 {
            match sys::write_at_once(fds[0], input) {
                Ok(written) if written < input.len() && ready[0] & i32::from(libc::POLLERR) == 0 => {
                    input = &input[written..];
                }
                // It has all, or reads no more.
                _ => child.stdin = None,
            }
        }
        for (at, pipe) in pipes.iter_mut().enumerate() {
            if ready[at + 1] != 0 && read_some(pipe, &mut outputs[at])? == 0 {
                *pipe = None;
            }
        }
    }
}

/// -1 for none, which `poll` passes over.
fn number_of(file: &Option<impl AsRawFd>) -> i32 {
    file.as_ref().map_or(-1, AsRawFd::as_raw_fd)
}

/// How many bytes there were; 0 at the end.
fn read_some(pipe: &mut Option<File>, output: &mut Vec<u8>) -> Outcome<usize> {
    let Some(file) = pipe else { return Ok(0) };
    let mut buffer = [0; OUTPUT_PIECE_BYTES];
    loop {
        match file.read(&mut buffer) {
            Ok(length) => {
                output.extend_from_slice(&buffer[..length]);
                return Ok(length);
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failure("read a program's output", &error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, assignments: &[String], stdin: &str) -> Finished {
        exec("/bin/sh", &["-c".into(), script.into()], assignments, stdin.as_bytes()).unwrap()
    }

    #[test]
    fn a_program_gets_its_input_and_environment_and_its_output_comes_back() {
        let run = sh("cat; printf %s \"$CNI_COMMAND\"; echo oops >&2; exit 3", &["CNI_COMMAND=ADD".into()], "in ");
        assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (3, "in ADD", "oops\n"));
    }

    #[test]
    fn input_and_output_may_be_larger_than_a_pipe() {
        let text = "x".repeat(1 << 20);
        let run = sh("text=$(cat); printf %s \"$text\"; printf %s \"$text\" >&2", &[], &text);
        assert_eq!((run.stdout, run.stderr), (text.clone(), text));
    }

    #[test]
    fn a_program_may_fill_its_output_before_it_reads_its_input() {
        let text = "x".repeat(1 << 20);
        let run = sh("head -c 1048576 /dev/zero | tee /dev/stderr | tr '\\0' y; wc -c", &[], &text);
        assert_eq!(run.stdout.trim_start_matches('y').trim(), "1048576");
        assert_eq!((run.stdout.matches('y').count(), run.stderr.len()), (1 << 20, 1 << 20));
    }

    #[test]
    fn a_program_that_was_killed_has_the_code_of_its_signal() {
        assert_eq!(sh("kill -9 $$", &[], "").code, 137);
    }

    #[test]
    fn a_program_need_not_read_its_input() {
        assert_eq!(sh("exec <&-; echo done", &[], &"x".repeat(1 << 20)).stdout, "done\n");
    }

    #[test]
    fn a_folder_is_no_executable() {
        assert!(!is_executable("/"));
        assert!(is_executable("/bin/sh"));
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = exec("/no/such/program", &[], &[], b"").err().unwrap();
        assert_eq!((error.call.as_str(), error.errno), ("execute /no/such/program", libc::ENOENT));
    }
}
