#![no_main]

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    cni_host::run(include!(concat!(env!("OUT_DIR"), "/bridge.rs")))
}
