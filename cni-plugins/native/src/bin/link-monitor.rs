#![no_main]

// The start code of the C library calls the function of this name; no other function has it.
#[unsafe(no_mangle)]
extern "C" fn main() -> i32 {
    cni_native::run(include_bytes!(concat!(env!("OUT_DIR"), "/link-monitor.bytecode")), None)
}
