//! Turns the esbuild bundle of each plugin into QuickJS bytecode, which the executables carry inside.

use rquickjs::{Context, Module, Runtime, WriteOptions};
use std::{env, fs, path::PathBuf};

const PLUGINS: [&str; 3] = ["bridge", "link-monitor", "tuning"];

fn main() {
    let bundles = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("target/bundles");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    println!("cargo:rerun-if-changed={}", bundles.display());
    for plugin in PLUGINS {
        let file = bundles.join(plugin).with_extension("js");
        let source = fs::read(&file).unwrap_or_else(|error| {
            panic!("{}: {error}. The bundles are made by `npm run build:plugins`: run that first.", file.display())
        });
        fs::write(out.join(plugin).with_extension("bytecode"), bytecode(plugin, source)).unwrap();
    }
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
