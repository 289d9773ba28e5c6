//! Resolves the imports of a plugin's modules, for the build script that compiles them and for the executable.

use rquickjs::{
    Ctx, Module, Result, Runtime,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};

/// All modules of a plugin are in one folder and import each other as `./name.js`. `load` returns the module of a name.
pub fn import_siblings<F>(runtime: &Runtime, load: F)
where
    F: for<'js> Fn(Ctx<'js>, &str) -> Result<Module<'js, Declared>> + 'static,
{
    runtime.set_loader(Siblings, Load(load));
}

struct Siblings;

impl Resolver for Siblings {
    fn resolve<'js>(&mut self, _: &Ctx<'js>, _: &str, name: &str, _: Option<ImportAttributes<'js>>) -> Result<String> {
        Ok(name.trim_start_matches("./").into())
    }
}

struct Load<F>(F);

impl<F> Loader for Load<F>
where
    F: for<'js> Fn(Ctx<'js>, &str) -> Result<Module<'js, Declared>>,
{
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        (self.0)(ctx.clone(), name)
    }
}
