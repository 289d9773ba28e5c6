//! Turns the esbuild bundle of each plugin, one or more modules, into QuickJS bytecode, which the executables carry inside.

#[path = "src/siblings.rs"]
mod siblings;

use rquickjs::{Context, Module, Runtime, WriteOptions};
use std::{env, fmt::Write, fs, path::Path, path::PathBuf};

fn main() {
    let bundles = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("target/bundles");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed={}", bundles.display());
    for plugin in sorted_names(&bundles) {
        let modules = compile(&bundles.join(&plugin), &out.join(&plugin));
        fs::write(out.join(plugin).with_extension("rs"), modules).unwrap();
    }
}

/// Writes each module's bytecode and gives the expression of a table of them.
fn compile(bundle: &Path, out: &Path) -> String {
    fs::create_dir_all(out).unwrap();
    let mut table = String::from("&[\n");
    for name in sorted_names(bundle) {
        let file = out.join(&name).with_extension("bytecode");
        fs::write(&file, bytecode(bundle, &name)).unwrap();
        writeln!(table, "({name:?}, include_bytes!({:?})),", file.display().to_string()).unwrap();
    }
    table + "]"
}

fn sorted_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| {
        panic!("{}: {error}. The bundles are made by `npm run build:plugins`: run that first.", folder.display())
    });
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn bytecode(bundle: &Path, name: &str) -> Vec<u8> {
    let runtime = Runtime::new().unwrap();
    let folder = bundle.to_path_buf();
    siblings::import_siblings(&runtime, move |ctx, name| Module::declare(ctx, name, read(&folder, name)));
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), name, read(bundle, name));
        let module = module.unwrap_or_else(|error| panic!("{name}: {error} {:?}", ctx.catch()));
        module.write(WriteOptions { strip_source: true, strip_debug: true, ..Default::default() }).unwrap()
    })
}

fn read(bundle: &Path, name: &str) -> String {
    let file = bundle.join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}
