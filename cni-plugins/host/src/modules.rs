//! The bytecode modules of a plugin: `main.js`, the parts that calls load when they need them, and what these share.

use crate::api::method;
use rquickjs::{
    Ctx, Error, Module, Object, Result,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};

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

pub struct Linked(pub Modules);

impl Resolver for Linked {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        Ok(name.trim_start_matches("./").into())
    }
}

impl Loader for Linked {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        let found = self.0.iter().find(|(known, _)| *known == name);
        let (_, bytecode) = found.ok_or_else(|| Error::new_loading(name))?;
        // SAFETY: see `Modules`.
        unsafe { Module::load(ctx.clone(), bytecode) }
    }
}
