//! The bytecode modules of a plugin: `main.js`, the parts that calls load when they need them, and what these share.

use crate::{api::method, siblings::import_siblings};
use rquickjs::{Ctx, Error, Module, Object, Result, Runtime};

/// Names, and bytecode that this executable's build made with the same QuickJS.
pub type Modules = &'static [(&'static str, &'static [u8])];

pub const MAIN: &str = "main.js";

/// Evaluates a module, and what it imports, unless that was done before.
pub fn evaluate<'js>(ctx: &Ctx<'js>, name: &str) -> Result<Object<'js>> {
    Module::import(ctx, name)?.finish()
}

pub fn install(host: &Object<'_>) -> Result<()> {
    method(host, "load", load)
}

fn load<'js>(ctx: Ctx<'js>, part: String) -> Result<Object<'js>> {
    evaluate(&ctx, &format!("{part}.js"))
}

/// Lets modules import those of `modules`.
pub fn link(runtime: &Runtime, modules: Modules) {
    import_siblings(runtime, move |ctx, name| {
        let found = modules.iter().find(|(known, _)| *known == name);
        let (_, bytecode) = found.ok_or_else(|| Error::new_loading(name))?;
        // SAFETY: see `Modules`.
        unsafe { Module::load(ctx, bytecode) }
    });
}
