//! The native part of the CNI plugins. It runs bytecode that was made from their TypeScript, and offers system calls as
//! methods of the global object `syscalls`, whose type is in `syscalls.ts`. `api` makes that object; each module adds its own
//! methods. Only the executables in `src/bin` use this library.

mod api;
mod exec;
mod expression;
mod files;
mod netlink;
mod netns;
mod reports;
pub mod sys;

use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Module, Result, Runtime, context::intrinsic};

/// A configuration of 1 MiB needs 20 MiB at most. The memory counts against the cgroup of whoever starts the plugin.
const MEMORY_LIMIT_BYTES: usize = 40 << 20;

/// Well below the 8 MiB that a process is usually given.
const STACK_LIMIT_BYTES: usize = 512 << 10;

/// What the plugins use of JavaScript. The evaluation of a module needs promises. RegExp is not there: it takes 0.1 MB of each
/// executable, and as much memory of each call.
type Intrinsics = (intrinsic::Json, intrinsic::MapSet, intrinsic::Promise, intrinsic::TypedArrays);

/// Runs one program from bytecode that the build of this executable made with the same QuickJS. This is all of `main`: the
/// executables are `no_main`, because most of what Rust does before its own `main` is for threads and for reports about the
/// stack. A program ends by `syscalls.exit`. Any other end is answered as an internal error.
///
/// `version_answer` is what a CNI plugin prints for VERSION. The build made it, too, because to load the bytecode first would
/// take most of the time of that call.
pub fn run(bytecode: &[u8], version_answer: Option<&str>) -> ! {
    sys::prepare_process();
    let is_version = sys::env("CNI_COMMAND").as_deref() == Some("VERSION");
    if let Some(answer) = version_answer.filter(|_| is_version) {
        match sys::write_all(libc::STDOUT_FILENO, answer.as_bytes()) {
            Ok(()) => sys::exit(0),
            Err(failure) => last_resort(&format!("{} failed", failure.call)),
        }
    }
    std::panic::set_hook(Box::new(|panic| last_resort(&panic.to_string())));
    let detail = match start() {
        Ok((_runtime, context)) => context.with(|ctx| evaluate(&ctx, bytecode)),
        Err(error) => error.to_string(),
    };
    last_resort(&detail)
}

fn start() -> Result<(Runtime, Context)> {
    let runtime = Runtime::new()?;
    runtime.set_memory_limit(MEMORY_LIMIT_BYTES);
    runtime.set_max_stack_size(STACK_LIMIT_BYTES);
    let context = Context::custom::<Intrinsics>(&runtime)?;
    Ok((runtime, context))
}

fn evaluate(ctx: &Ctx<'_>, bytecode: &[u8]) -> String {
    let outcome = api::install(ctx).and_then(|()| {
        // SAFETY: the bytecode is this build's own, see `run`. QuickJS does not check bytecode.
        let (_, done) = unsafe { Module::load(ctx.clone(), bytecode) }?.eval()?;
        done.finish::<()>()
    });
    match outcome.catch(ctx) {
        Ok(_) => "the plugin returned without an answer".into(),
        Err(CaughtError::Exception(exception)) => exception.message().unwrap_or_else(|| "exception".into()),
        Err(error) => error.to_string(),
    }
}

/// Answers when the interpreter can't: out of memory, out of stack, a panic of this program.
fn last_resort(detail: &str) -> ! {
    let _ = sys::write_all(libc::STDOUT_FILENO, last_resort_answer(detail).as_bytes());
    sys::exit(1)
}

fn last_resort_answer(detail: &str) -> String {
    let mut text = String::new();
    for c in detail.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
    }
    format!(
        "{{\"cniVersion\":\"1.0.0\",\"code\":100,\"msg\":\"the plugin failed before it could answer; \
         this is a defect of the plugin or the node is out of memory\",\"details\":\"{text}\"}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_resort_answer_escapes_what_json_needs_escaped() {
        let answer = last_resort_answer("a \"quoted\" \\ line\nand another");
        assert!(answer.contains(r#""details":"a \"quoted\" \\ line and another""#), "{answer}");
    }

    #[test]
    fn an_exception_of_the_plugin_becomes_the_detail_of_the_last_resort() {
        let (_runtime, context) = start().unwrap();
        let detail = context.with(|ctx| evaluate(&ctx, b"not bytecode"));
        assert!(!detail.is_empty());
    }
}
