#![no_main]

#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    cni_host::run_with_patterns(include!(concat!(env!("OUT_DIR"), "/tuning.rs")))
}
