//! Runs IPAM plugins and the node's iptables, as methods of `syscalls`. `syscalls.ts` is their type. An IPAM plugin can load
//! while the plugin does other work.

use crate::api::{method, throwing};
use crate::sys::{self, Failure, Outcome, failure};
use rquickjs::{Ctx, IntoJs, Object, Result, Value};
use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

/// One page: a larger buffer on the stack would map more memory.
const OUTPUT_PIECE_BYTES: usize = 4 << 10;

pub fn install(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "isExecutable", |path: String| is_executable(&path))?;
    let programs = Rc::new(Programs::default());
    let one = programs.clone();
    method(syscalls, "start", move |ctx: Ctx<'_>, path: String, args: Vec<String>, env: Vec<String>| {
        throwing(&ctx, one.start(&path, &args, &env))
    })?;
    let one = programs.clone();
    method(syscalls, "give", move |ctx: Ctx<'_>, program: usize, stdin: String| {
        throwing(&ctx, one.give(program, &stdin))
    })?;
    let one = programs.clone();
    method(syscalls, "finish", move |ctx: Ctx<'_>, program: usize| throwing(&ctx, one.finish(program)))?;
    method(syscalls, "abandon", move |program: usize| programs.abandon(program))
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

/// Programs by the order in which they were started; none in the place of one that is over.
#[derive(Default)]
struct Programs(RefCell<Vec<Option<Program>>>);

impl Programs {
    /// Starts the file at `path` in this process's environment with the `assignments` (NAME=value) made in it. It can't do
    /// much before it has its input. ETXTBSY is for the caller to try again.
    fn start(&self, path: &str, args: &[String], assignments: &[String]) -> Outcome<usize> {
        let mut command = Command::new(path);
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in assignments.iter().filter_map(|assignment| assignment.split_once('=')) {
            command.env(name, value);
        }
        let child = command.spawn().map_err(|error| failure(format!("execute {path}"), &error))?;
        let mut programs = self.0.borrow_mut();
        programs.push(Some(Program { child, input: Vec::new() }));
        Ok(programs.len() - 1)
    }

    /// ECHILD for one that has its input or is over. Never waits: what the pipe has no room for is written by `finish`.
    fn give(&self, number: usize, text: &str) -> Outcome<()> {
        let mut programs = self.0.borrow_mut();
        let program = programs.get_mut(number).and_then(Option::as_mut);
        let waiting = program.filter(|one| one.child.stdin.is_some() && one.input.is_empty());
        let program = waiting.ok_or_else(|| over("give a program its input"))?;
        program.input = text.into();
        program.pass_on();
        Ok(())
    }

    /// Waits for its end. Replaces invalid UTF-8 in its output. ECHILD when it has ended before.
    fn finish(&self, number: usize) -> Outcome<Finished> {
        let mut program = self.take(number).ok_or_else(|| over("finish a program"))?;
        let [stdout, stderr] = program.converse()?;
        let status = program.child.wait().map_err(|error| failure("wait for a program", &error))?;
        Ok(Finished {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: String::from_utf8_lossy(&stderr).into_owned(),
        })
    }

    /// Ends it, whatever it does.
    fn abandon(&self, number: usize) {
        if let Some(mut program) = self.take(number) {
            let _ = program.child.kill().and_then(|()| program.child.wait());
        }
    }

    fn take(&self, number: usize) -> Option<Program> {
        self.0.borrow_mut().get_mut(number).and_then(Option::take)
    }
}

/// A program that was started, and the input that it has not been given yet.
struct Program {
    child: Child,
    input: Vec<u8>,
}

impl Program {
    /// Gives it what there is room for. Closes its stdin when it has all, or reads no more.
    fn pass_on(&mut self) {
        let Some(stdin) = &self.child.stdin else { return };
        match sys::write_at_once(stdin.as_raw_fd(), &self.input) {
            Ok(written) if written < self.input.len() => drop(self.input.drain(..written)),
            _ => self.child.stdin = None,
        }
    }

    /// Gives it the rest of its input and takes its stdout and stderr, each when it is ready for it, until all are closed.
    fn converse(&mut self) -> Outcome<[Vec<u8>; 2]> {
        let stdout = self.child.stdout.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let stderr = self.child.stderr.take().map(|pipe| File::from(OwnedFd::from(pipe)));
        let mut pipes = [stdout, stderr];
        let mut outputs = [Vec::new(), Vec::new()];
        loop {
            let fds = [number_of(&self.child.stdin), number_of(&pipes[0]), number_of(&pipes[1])];
            if fds == [-1; 3] {
                return Ok(outputs);
            }
            let ready = sys::poll_for(libc::POLLIN | libc::POLLOUT, &fds, -1)?;
            if ready[0] & i32::from(libc::POLLERR) != 0 {
                self.child.stdin = None;
            } else if ready[0] != 0 {
                self.pass_on();
            }
            for (at, pipe) in pipes.iter_mut().enumerate() {
                if ready[at + 1] != 0 && read_some(pipe, &mut outputs[at])? == 0 {
                    *pipe = None;
                }
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

fn over(call: &str) -> Failure {
    Failure { call: call.into(), errno: libc::ECHILD }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, assignments: &[String], stdin: &str) -> Finished {
        let programs = Programs::default();
        let args = ["-c".into(), script.into()];
        let program = programs.start("/bin/sh", &args, assignments).unwrap();
        programs.give(program, stdin).unwrap();
        programs.finish(program).unwrap()
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

    fn cat(programs: &Programs) -> usize {
        programs.start("/bin/cat", &[], &[]).unwrap()
    }

    #[test]
    fn programs_run_beside_each_other_and_each_is_finished_once() {
        let programs = Programs::default();
        let (first, second) = (cat(&programs), cat(&programs));
        programs.give(first, "1").unwrap();
        programs.give(second, "2").unwrap();
        assert_eq!(programs.finish(second).unwrap().stdout, "2");
        assert_eq!(programs.finish(first).unwrap().stdout, "1");
        assert_eq!(programs.finish(first).err().unwrap().errno, libc::ECHILD);
    }

    #[test]
    fn a_program_without_its_input_waits_and_can_be_abandoned() {
        let programs = Programs::default();
        let program = cat(&programs);
        programs.abandon(program);
        assert_eq!(programs.give(program, "").err().unwrap().errno, libc::ECHILD);
        assert_eq!(programs.finish(program).err().unwrap().errno, libc::ECHILD);
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
        let error = Programs::default().start("/no/such/program", &[], &[]).err().unwrap();
        assert_eq!((error.call.as_str(), error.errno), ("execute /no/such/program", libc::ENOENT));
    }
}
