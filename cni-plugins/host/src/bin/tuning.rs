fn main() {
    cni_host::run_with_patterns(include_bytes!(concat!(env!("OUT_DIR"), "/tuning.bytecode")))
}
