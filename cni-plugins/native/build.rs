//! Turns the esbuild bundle of each plugin into QuickJS bytecode, which the executables carry inside, with their answer to
//! VERSION.

use rquickjs::{Context, Module, Runtime, WriteOptions};
use std::path::{Path, PathBuf};
use std::{env, fs};

const PLUGINS: [&str; 3] = ["bridge", "link-monitor", "tuning"];

fn main() {
    let bundles = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("target/bundles");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed={}", bundles.display());
    for plugin in PLUGINS {
        let source = read(&bundles.join(plugin).with_extension("js"));
        fs::write(out.join(plugin).with_extension("bytecode"), bytecode(plugin, source)).unwrap();
    }
    fs::write(out.join("version.json"), read(&bundles.join("version.json"))).unwrap();
}

fn read(file: &Path) -> Vec<u8> {
    fs::read(file).unwrap_or_else(|error| {
        panic!("{}: {error}. The bundles are made by `npm run build:plugins`: run that first.", file.display())
    })
}

fn bytecode(name: &str, source: Vec<u8>) -> Vec<u8> {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), name, source);
        let module = module.unwrap_or_else(|error| panic!("{name}: {error} {:?}", ctx.catch()));
        module.write(WriteOptions { strip_source: true, strip_debug: true, ..Default::default() }).unwrap()
    })
}
