//! The bytecode modules of a plugin: `main.js`, the parts that a call loads when it needs them, and the code that they
//! share.

use crate::{api::method, siblings::import_siblings};
use rquickjs::{Ctx, Error, Module, Object, Result, Runtime};

/// Names, each with bytecode that the build of this executable made with the same QuickJS.
pub type Modules = &'static [(&'static str, &'static [u8])];

pub const MAIN: &str = "main.js";

/// Evaluates a module and its imports once; later calls return the same exports.
pub fn evaluate<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>> {
    Module::import(ctx, name)?.finish()
}

pub fn install(syscalls: &Object<'_>) -> Result<()> {
    method(syscalls, "load", load)
}

fn load<'js>(ctx: Ctx<'js>, part: String) -> Result<Object<'js>> {
    evaluate(&ctx, &format!("{part}.js"))
}

/// Lets the runtime find imports in `modules`.
pub fn link(runtime: &Runtime, modules: Modules) {
    import_siblings(runtime, move |ctx, name| {
        let found = modules.iter().find(|(known, _)| *known == name);
        let (_, bytecode) = found.ok_or_else(|| Error::new_loading(name))?;
        // SAFETY: the bytecode is this build's own, see `Modules`. QuickJS does not check bytecode.
        unsafe { Module::load(ctx, bytecode) }
    });
}
