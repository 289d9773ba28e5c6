//! Turns the esbuild bundle of each plugin, one or more modules, into QuickJS bytecode, which the executables carry inside.

use rquickjs::{
    Context, Ctx, Module, Result, Runtime, WriteOptions,
    loader::{ImportAttributes, Loader, Resolver},
    module::Declared,
};
use std::{env, fmt::Write, fs, path::Path, path::PathBuf};

const PLUGINS: [&str; 3] = ["bridge", "tuning", "link-monitor"];

/// The modules of one plugin, in one folder: they import each other as `./name.js`.
struct Bundle(PathBuf);

impl Bundle {
    fn read(&self, name: &str) -> String {
        let file = self.0.join(name);
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }
}

impl Resolver for Bundle {
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

impl Loader for Bundle {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        Module::declare(ctx.clone(), name, self.read(name))
    }
}

fn main() {
    let bundles = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("target/bundles");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed={}", bundles.display());
    for plugin in PLUGINS {
        let modules = compile(&bundles.join(plugin), &out.join(plugin));
        fs::write(out.join(plugin).with_extension("rs"), modules).unwrap();
    }
}

/// Writes each module's bytecode and gives the expression of a table of them.
fn compile(bundle: &Path, out: &Path) -> String {
    fs::create_dir_all(out).unwrap();
    let mut names: Vec<String> = fs::read_dir(bundle)
        .unwrap_or_else(|error| {
            panic!("{}: {error}. The bundles are made by `npm run build:plugins`: run that first.", bundle.display())
        })
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let file = out.join(&name).with_extension("bytecode");
        fs::write(&file, bytecode(bundle, &name)).unwrap();
        writeln!(table, "({name:?}, include_bytes!({:?})),", file.display().to_string()).unwrap();
    }
    table + "]"
}

fn bytecode(bundle: &Path, name: &str) -> Vec<u8> {
    let runtime = Runtime::new().unwrap();
    runtime.set_loader(Bundle(bundle.into()), Bundle(bundle.into()));
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let source = Bundle(bundle.into()).read(name);
        let module = Module::declare(ctx.clone(), name, source);
        let module = module.unwrap_or_else(|error| panic!("{name}: {error} {:?}", ctx.catch()));
        module.write(WriteOptions { strip_source: true, strip_debug: true, ..Default::default() }).unwrap()
    })
}
