//! Runs other programs: IPAM plugins, which may take their time while other work goes on, and the node's iptables. Shown
//! to JavaScript as further methods of `host`; `program-host.ts` is their type.

use crate::api::{method, throwing};
use crate::sys::{self, Failure, Outcome, failure};
use rquickjs::{Ctx, IntoJs, Object, Result, Value};
use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

/// What a new pipe takes, whether somebody reads it or not.
const PIPE_BYTES: usize = 64 << 10;

/// Of one read of a program's output; and what a pipe that is ready takes of its input.
const PIECE_BYTES: usize = 4096;

pub fn install(host: &Object<'_>) -> Result<()> {
    method(host, "isExecutable", |path: String| is_executable(&path))?;
    let programs = Rc::new(Programs::default());
    let one = programs.clone();
    method(host, "start", move |ctx: Ctx<'_>, path: String, args: Vec<String>, env: Vec<String>| {
        throwing(&ctx, one.start(&path, &args, &env))
    })?;
    let one = programs.clone();
    method(host, "give", move |ctx: Ctx<'_>, program: usize, stdin: String| throwing(&ctx, one.give(program, &stdin)))?;
    let one = programs.clone();
    method(host, "printed", move |ctx: Ctx<'_>, program: usize| throwing(&ctx, one.printed(program)))?;
    let one = programs.clone();
    method(host, "finish", move |ctx: Ctx<'_>, program: usize| throwing(&ctx, one.finish(program)))?;
    method(host, "abandon", move |program: usize| programs.abandon(program))
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

struct Program {
    child: Child,
    /// What did not go into the pipe at once.
    input: Vec<u8>,
    stdout: Output,
    stderr: Output,
}

impl Program {
    fn new(mut child: Child) -> Self {
        let stdout = Output::of(child.stdout.take().map(Into::into));
        let stderr = Output::of(child.stderr.take().map(Into::into));
        Self { child, input: Vec::new(), stdout, stderr }
    }

    /// It may end without reading all of it.
    fn write(&mut self, length: usize) {
        let Some(pipe) = &mut self.child.stdin else { return };
        let rest = self.input.split_off(length.min(self.input.len()));
        let written = pipe.write_all(&self.input);
        self.input = rest;
        if written.is_err() || self.input.is_empty() {
            self.child.stdin = None;
        }
    }

    /// Waits for more of its output or the end of one, and writes meanwhile.
    fn exchange(&mut self) -> Outcome<()> {
        let stdin = self.child.stdin.as_ref().map_or(-1, |pipe| pipe.as_raw_fd());
        let wanted = [(stdin, libc::POLLOUT), (self.stdout.fd(), libc::POLLIN), (self.stderr.fd(), libc::POLLIN)];
        let ready = sys::poll_for(&wanted, -1)?;
        if ready[0] != 0 {
            self.write(PIECE_BYTES);
        }
        for (output, events) in [&mut self.stdout, &mut self.stderr].into_iter().zip(&ready[1..]) {
            if *events != 0 {
                output.read()?;
            }
        }
        Ok(())
    }
}

/// What a program has printed, and where more may come from.
struct Output {
    pipe: Option<File>,
    bytes: Vec<u8>,
}

impl Output {
    fn of(pipe: Option<OwnedFd>) -> Self {
        Self { pipe: pipe.map(File::from), bytes: Vec::new() }
    }

    /// Negative after its end: such a one is never ready.
    fn fd(&self) -> i32 {
        self.pipe.as_ref().map_or(-1, |pipe| pipe.as_raw_fd())
    }

    fn read(&mut self) -> Outcome<()> {
        let Some(pipe) = &mut self.pipe else { return Ok(()) };
        let mut piece = [0; PIECE_BYTES];
        let length = pipe.read(&mut piece).map_err(|error| failure("read from a program", &error))?;
        self.bytes.extend_from_slice(&piece[..length]);
        if length == 0 {
            self.pipe = None;
        }
        Ok(())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

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
        programs.push(Some(Program::new(child)));
        Ok(programs.len() - 1)
    }

    /// ECHILD for one that has its input or is over.
    fn give(&self, number: usize, text: &str) -> Outcome<()> {
        let mut programs = self.0.borrow_mut();
        let program = programs.get_mut(number).and_then(Option::as_mut).filter(|program| program.child.stdin.is_some());
        let program = program.ok_or_else(|| over("give a program its input"))?;
        program.input = text.into();
        program.write(PIPE_BYTES);
        Ok(())
    }

    /// Waits for more of what it prints to stdout; all of it up to then. The same again: there is no more.
    fn printed(&self, number: usize) -> Outcome<String> {
        let mut programs = self.0.borrow_mut();
        let program = programs.get_mut(number).and_then(Option::as_mut);
        let program = program.ok_or_else(|| over("read from a program"))?;
        let before = program.stdout.bytes.len();
        while program.stdout.pipe.is_some() && program.stdout.bytes.len() == before {
            program.exchange()?;
        }
        Ok(program.stdout.text())
    }

    /// Waits for its end. Bytes of its output that are no UTF-8 are replaced. ECHILD for one that is over.
    fn finish(&self, number: usize) -> Outcome<Finished> {
        let mut program = self.take(number).ok_or_else(|| over("finish a program"))?;
        while program.stdout.pipe.is_some() || program.stderr.pipe.is_some() {
            program.exchange()?;
        }
        let status = program.child.wait().map_err(|error| failure("wait for a program", &error))?;
        Ok(Finished {
            code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
            stdout: program.stdout.text(),
            stderr: program.stderr.text(),
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
    fn input_and_output_larger_than_a_pipe_do_not_block() {
        let input = "x".repeat(1 << 20);
        assert_eq!(sh("cat", &[], &input).stdout.len(), input.len());
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
    fn what_a_program_has_printed_is_there_before_it_ends() {
        let programs = Programs::default();
        let program = cat(&programs);
        let mut stdin = programs.0.borrow_mut()[program].as_mut().unwrap().child.stdin.take().unwrap();
        stdin.write_all(b"1").unwrap();
        assert_eq!(programs.printed(program).unwrap(), "1");
        stdin.write_all(b"2").unwrap();
        drop(stdin);
        assert_eq!(programs.printed(program).unwrap(), "12");
        assert_eq!(programs.printed(program).unwrap(), "12");
        assert_eq!(programs.finish(program).unwrap().stdout, "12");
        assert_eq!(programs.printed(program).err().unwrap().errno, libc::ECHILD);
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
