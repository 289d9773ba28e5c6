fn main() {
    cni_host::run_with_patterns(include!(concat!(env!("OUT_DIR"), "/tuning.rs")))
}
