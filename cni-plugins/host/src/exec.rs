//! Runs other programs: IPAM plugins, which may take their time while other work goes on, and the node's iptables. Shown
//! to JavaScript as further methods of `host`; `program-host.ts` is their type.

use crate::api::{method, throwing};
use crate::sys::{Failure, Outcome, failure};
use rquickjs::{Ctx, IntoJs, Object, Result, Value};
use std::cell::RefCell;
use std::fs::File;
use std::io::{Seek, Write};
use std::os::fd::FromRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;

pub fn install(host: &Object<'_>) -> Result<()> {
    method(host, "isExecutable", |path: String| is_executable(&path))?;
    let programs = Rc::new(Programs::default());
    let started = programs.clone();
    method(host, "start", move |ctx: Ctx<'_>, path: String, args: Vec<String>, env: Vec<String>, stdin: String| {
        throwing(&ctx, started.start(&path, &args, &env, &stdin))
    })?;
    method(host, "finish", move |ctx: Ctx<'_>, program: usize| throwing(&ctx, programs.finish(program)))
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

/// Programs by the order in which they were started; none in the place of one that was finished.
#[derive(Default)]
struct Programs(RefCell<Vec<Option<Child>>>);

impl Programs {
    /// Starts the file at `path` in this process's environment with the `assignments` (NAME=value) made in it. ETXTBSY is
    /// for the caller to try again.
    fn start(&self, path: &str, args: &[String], assignments: &[String], stdin: &str) -> Outcome<usize> {
        let mut command = Command::new(path);
        command.args(args).stdin(text_file(stdin)?).stdout(Stdio::piped()).stderr(Stdio::piped());
        for (name, value) in assignments.iter().filter_map(|assignment| assignment.split_once('=')) {
            command.env(name, value);
        }
        let child = command.spawn().map_err(|error| failure(format!("execute {path}"), &error))?;
        let mut programs = self.0.borrow_mut();
        programs.push(Some(child));
        Ok(programs.len() - 1)
    }

    /// Waits for its end. Bytes of its output that are no UTF-8 are replaced. ECHILD for one that was finished before.
    fn finish(&self, program: usize) -> Outcome<Finished> {
        let child = self.0.borrow_mut().get_mut(program).and_then(Option::take);
        let child = child.ok_or(Failure { call: "finish a program".into(), errno: libc::ECHILD })?;
        let output = child.wait_with_output().map_err(|error| failure("wait for a program", &error))?;
        Ok(Finished {
            code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        })
    }
}

/// All of the input is there before the program starts, so neither side can wait for the other.
fn text_file(text: &str) -> Outcome<File> {
    // SAFETY: the name ends in a nul; the new descriptor is owned by the File.
    let fd = unsafe { libc::memfd_create(c"stdin".as_ptr(), libc::MFD_CLOEXEC) };
    if fd < 0 {
        return Err(Failure {
            call: "memfd_create".into(),
            errno: std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO),
        });
    }
    // SAFETY: as above.
    let mut file = unsafe { File::from_raw_fd(fd) };
    let filled = file.write_all(text.as_bytes()).and_then(|()| file.rewind());
    filled.map_err(|error| failure("write the input of a program", &error))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, assignments: &[String], stdin: &str) -> Finished {
        let programs = Programs::default();
        let program = programs.start("/bin/sh", &["-c".into(), script.into()], assignments, stdin).unwrap();
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

    #[test]
    fn programs_run_beside_each_other_and_each_is_finished_once() {
        let programs = Programs::default();
        let cat = |text: &str| programs.start("/bin/cat", &[], &[], text).unwrap();
        let (first, second) = (cat("1"), cat("2"));
        assert_eq!(programs.finish(second).unwrap().stdout, "2");
        assert_eq!(programs.finish(first).unwrap().stdout, "1");
        assert_eq!(programs.finish(first).err().unwrap().errno, libc::ECHILD);
    }

    #[test]
    fn a_folder_is_no_executable() {
        assert!(!is_executable("/"));
        assert!(is_executable("/bin/sh"));
    }

    #[test]
    fn a_program_that_is_missing_is_named() {
        let error = Programs::default().start("/no/such/program", &[], &[], "").err().unwrap();
        assert_eq!((error.call.as_str(), error.errno), ("execute /no/such/program", libc::ENOENT));
    }
}
