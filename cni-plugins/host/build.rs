//! Turns the esbuild bundle of each plugin into QuickJS bytecode, which the executables carry inside.

use rquickjs::{Context, Module, Runtime, WriteOptions};
use std::{env, fs, path::PathBuf};

const PLUGINS: [&str; 3] = ["bridge", "tuning", "link-monitor"];

fn main() {
    let bundles = PathBuf::from(env::var("CARGO_MANIFEST_DIR").unwrap()).join("target/bundles");
    let out = PathBuf::from(env::var("OUT_DIR").unwrap());
    for plugin in PLUGINS {
        let bundle = bundles.join(plugin).with_extension("js");
        println!("cargo:rerun-if-changed={}", bundle.display());
        let source = fs::read_to_string(&bundle).unwrap_or_else(|error| {
            panic!("{}: {error}. The bundles are made by `npm run build:plugins`: run that first.", bundle.display())
        });
        fs::write(out.join(plugin).with_extension("bytecode"), compile(plugin, source)).unwrap();
    }
}

fn compile(name: &str, source: String) -> Vec<u8> {
    let runtime = Runtime::new().unwrap();
    let context = Context::full(&runtime).unwrap();
    context.with(|ctx| {
        let module = Module::declare(ctx.clone(), name, source);
        let module = module.unwrap_or_else(|error| panic!("{name}: {error} {:?}", ctx.catch()));
        module.write(WriteOptions { strip_source: true, ..Default::default() }).unwrap()
    })
}
